// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ndlfs::backends {

// Cuts an array that lies in C order without gaps into blocks that do so too. Returns the
// extents of a block of about `target_bytes`, at least one element. Every extent is at least 1,
// even if the array has none along that dimension.
std::vector<uint64_t> ContiguousBlockShape(std::span<const uint64_t> array_shape,
                                           uint64_t element_bytes, uint64_t target_bytes);

// The usual size of such blocks.
inline constexpr uint64_t kBlockBytes = uint64_t{1} << 20;

// Number of the first element, in C order, of the block at `index`.
uint64_t FirstElement(std::span<const uint64_t> array_shape,
                      std::span<const uint64_t> block_shape, std::span<const uint64_t> index);

}  // namespace ndlfs::backends
