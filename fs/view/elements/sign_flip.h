// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>

#include "fs/view/elements/element_source.h"

namespace ndlfs::fs {

// The elements of `source`, integers of 1, 2, 4 or 8 bytes, with the highest bit of each the
// other way: unsigned ones less half of their range, or signed ones plus it.
std::shared_ptr<const ElementSource> FlipSigns(std::shared_ptr<const ElementSource> source,
                                               uint64_t width);

}  // namespace ndlfs::fs
