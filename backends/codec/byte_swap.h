// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

#include "backends/base/bytes.h"
#include "model/datatype.h"

namespace ndlfs::backends {

// Copies elements of `element_size` bytes from `from` to `to`, which are of
// the same size and either the same memory or do not overlap, reversing the
// bytes of each number in `runs` (model::PlanByteSwap). Bytes after the last
// whole element are copied as they are.
void SwapElements(std::span<const model::SwapRun> runs, size_t element_size, ConstByteSpan from,
                  ByteSpan to);

}  // namespace ndlfs::backends
