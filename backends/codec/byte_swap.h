// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

#include "backends/base/bytes.h"
#include "model/datatype.h"

namespace ndlfs::backends {

// Copies elements of `element_size` bytes from `from` to `to`, and reverses the
// bytes of each number in `runs` (see model::PlanByteSwap). Copies bytes after
// the last whole element unchanged. `from` and `to` must have the same size, and
// must be the same memory or not overlap.
void SwapElements(std::span<const model::SwapRun> runs, size_t element_size, ConstByteSpan from,
                  ByteSpan to);

// The same for elements that are numbers of `width` bytes. Those of one byte are copied.
void SwapNumbers(size_t width, ConstByteSpan from, ByteSpan to);

}  // namespace ndlfs::backends
