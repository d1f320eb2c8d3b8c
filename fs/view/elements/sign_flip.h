// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>

#include "fs/view/elements/element_source.h"

namespace ndlfs::fs {

// The elements of `source`, integers of 1, 2, 4 or 8 bytes, with the highest bit of each
// flipped. This subtracts half of the range from unsigned integers, and adds it to signed ones.
std::shared_ptr<const ElementSource> FlipSigns(std::shared_ptr<const ElementSource> source,
                                               uint64_t width);

}  // namespace ndlfs::fs
