// SPDX-License-Identifier: MIT
#include "backends/format/block_shape.h"

#include <algorithm>

namespace ndlfs::backends {

std::vector<uint64_t> ContiguousBlockShape(std::span<const uint64_t> array_shape,
                                           uint64_t element_bytes, uint64_t target_bytes) {
  std::vector<uint64_t> block(array_shape.size(), 1);
  uint64_t room = target_bytes / std::max<uint64_t>(element_bytes, 1);
  for (size_t dim = array_shape.size(); dim-- > 0;) {
    const uint64_t extent = std::max<uint64_t>(array_shape[dim], 1);
    block[dim] = std::clamp<uint64_t>(room, 1, extent);
    if (block[dim] < extent) break;
    room /= extent;
  }
  return block;
}

uint64_t FirstElement(std::span<const uint64_t> array_shape,
                      std::span<const uint64_t> block_shape, std::span<const uint64_t> index) {
  uint64_t element = 0;
  for (size_t dim = 0; dim < index.size(); ++dim) {
    element = element * array_shape[dim] + index[dim] * block_shape[dim];
  }
  return element;
}

}  // namespace ndlfs::backends
