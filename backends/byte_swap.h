// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "backends/bytes.h"
#include "model/datatype.h"

namespace ndlfs::backends {

// Reverses, in each element of `item` bytes in `elements`, the numbers that
// `runs` name (see model::PlanByteSwap). `elements` holds whole elements.
void SwapElements(std::span<const model::SwapRun> runs, size_t item, ByteSpan elements);

}  // namespace ndlfs::backends
