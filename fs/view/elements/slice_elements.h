// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cache/array_reader.h"
#include "fs/view/elements/element_source.h"
#include "fs/view/elements/selection.h"
#include "model/error.h"

namespace ndlfs::fs {

// The elements of `selection`, a part of an array of elements of fixed size, in C order of the
// part. Decodes only chunks that have one of them, and each once per read. While a file of
// these elements is open, the cache keeps on disk the chunks that it has no room for
// (cache/chunk_spill.h). So all reads together decode each chunk once. Errors begin with
// `name`, if there is one. kLimit if there are more bytes than a file can have.
//
// `axes` has the dimensions of the array in the order of the part, the slowest first. Each is
// there once, even if the selection drops it. Empty: the order of the array.
model::Result<std::shared_ptr<const ElementSource>> MakeSliceElements(
    std::shared_ptr<const cache::ArrayReader> reader, Selection selection,
    std::string name = {}, std::vector<size_t> axes = {});

}  // namespace ndlfs::fs
