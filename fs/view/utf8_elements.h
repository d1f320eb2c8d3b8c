// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "fs/view/element_source.h"
#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::fs {

// `elements`, all elements of `type`, with their UTF-32 text as UTF-8 in the same bytes; itself
// if there is none. kLimit for elements of more than 16 MiB with such text.
model::Result<std::shared_ptr<const ElementSource>> WithUtf8Text(
    std::shared_ptr<const ElementSource> elements, const model::Datatype& type);

}  // namespace ndlfs::fs
