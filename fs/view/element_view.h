// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "cache/array_reader.h"
#include "fs/view/view.h"
#include "model/error.h"

namespace ndlfs::fs {

// A view of `header` followed by the elements of an array: fixed size, C
// order, little-endian.
model::Result<std::shared_ptr<const View>> MakeElementView(
    std::string header, std::shared_ptr<const cache::ArrayReader> reader);

}  // namespace ndlfs::fs
