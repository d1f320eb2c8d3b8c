// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ndlfs::backends {

// Copies an array of `shape` from `from` to `to`, where it is in C order. In
// `from` neighbours along dimension i lie strides[i] elements apart. An element
// has `size` bytes. The caller must have checked that all of them lie inside.
void GatherStrided(const std::byte* from, const std::vector<uint64_t>& strides,
                   const std::vector<uint64_t>& shape, size_t size, std::byte* to);

}  // namespace ndlfs::backends
