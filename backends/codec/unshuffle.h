// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "backends/base/bytes.h"

namespace ndlfs::backends {

// Undoes byte shuffling: `from` has the first bytes of all elements, then their
// second bytes, and so on. Copies bytes after the last whole element unchanged.
// `to` must have the size of `from`, and must not overlap it.
void Unshuffle(ConstByteSpan from, size_t element_size, std::byte* to);

// Undoes bit shuffling of `count` elements, a multiple of 8: `from` has bit 0 of all elements,
// then bit 1 of all, and so on. A byte has the bits of eight elements, the first in the lowest
// bit. `planes` is scratch memory of count * element_size bytes.
void BitUnshuffle(const std::byte* from, size_t count, size_t element_size, std::byte* planes,
                  std::byte* to);

}  // namespace ndlfs::backends
