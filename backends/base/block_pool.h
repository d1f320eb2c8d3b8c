// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace ndlfs::backends {

// Allocates memory, and keeps some MiB of freed large blocks for the next
// requests of about the same size. The kernel clears the pages of new memory,
// which takes as long as decoding a chunk with a fast codec. Thread-safe.
class BlockPool {
 public:
  // Returns at least `size` bytes, aligned as by `operator new`. Throws
  // std::bad_alloc.
  static std::byte* Allocate(size_t size);
  // `size` has to be the one that the block was allocated with.
  static void Free(std::byte* block, size_t size);

  // The most bytes of freed blocks that are kept, and the bytes kept now.
  static constexpr size_t kMaxBytes = size_t{24} << 20;
  static size_t kept_bytes();
};

}  // namespace ndlfs::backends
