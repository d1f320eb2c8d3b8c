// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "backends/base/bytes.h"

namespace ndlfs::backends {

// Undoes byte shuffling: `from` holds the first bytes of all elements, then
// their second bytes, and so on. Bytes after the last whole element are the
// same in both. `to` is of the same size and elsewhere.
void Unshuffle(ConstByteSpan from, size_t element_size, std::byte* to);

// Undoes bit shuffling of `count` elements, a multiple of 8: `from` holds bit 0
// of all elements, eight to a byte and the first in its lowest bit, then bit 1,
// and so on. `planes` is memory for count * element_size bytes.
void BitUnshuffle(const std::byte* from, size_t count, size_t element_size, std::byte* planes,
                  std::byte* to);

}  // namespace ndlfs::backends
