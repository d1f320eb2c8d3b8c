// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace ndlfs::backends {

// Memory for blocks, as `operator new` gives it. Some MiB of large blocks that
// were given back are kept for others of about the same size: memory fresh
// from the system is cleared by it page by page, which takes as long as
// decoding fast codecs does. Thread-safe.
class BlockPool {
 public:
  // At least `size` bytes; throws std::bad_alloc.
  static std::byte* Allocate(size_t size);
  // `size` is what was asked for.
  static void Free(std::byte* block, size_t size);

  // What is kept at most.
  static constexpr size_t kMaxBytes = size_t{24} << 20;
  static size_t kept_bytes();
};

}  // namespace ndlfs::backends
