// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ndlfs::backends {

// Writes an array of `shape` in C order to `to`, taking its elements of `size`
// bytes from `from`, where they lie `strides` elements apart along each
// dimension. The caller has checked that all of them lie inside.
void GatherStrided(const std::byte* from, const std::vector<uint64_t>& strides,
                   const std::vector<uint64_t>& shape, size_t size, std::byte* to);

}  // namespace ndlfs::backends
