// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "cache/array_reader.h"
#include "fs/view/elements/element_source.h"
#include "fs/view/elements/selection.h"
#include "model/error.h"

namespace ndlfs::fs {

// The elements of `selection`, a part of an array of elements of fixed size, in C order.
// Decodes only chunks that have one of them, and each once per read. Errors begin with `name`,
// if there is one. kLimit if there are more bytes than a file can have.
model::Result<std::shared_ptr<const ElementSource>> MakeSliceElements(
    std::shared_ptr<const cache::ArrayReader> reader, Selection selection,
    std::string name = {});

}  // namespace ndlfs::fs
