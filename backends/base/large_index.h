// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace ndlfs::backends {

// Allows only one thread at a time to parse a large index (consolidated
// metadata, references, the directory of an archive). Parsing takes several
// times the size of the index in memory, which no budget accounts for. Turns of
// the same thread may nest. The end of a turn returns the free memory of the
// heap to the system.
//
// A source may take long to answer, so the bytes of an index are read before its turn, up to
// kReadBeforeTurn of them. Larger ones are read within the turn, because many at once would not
// fit in memory:
//   const LargeIndexTurn reading(LargeIndexTurn::ForReading(size));
//   ... read
//   const LargeIndexTurn turn(size);
//   ... parse
class LargeIndexTurn {
 public:
  static constexpr uint64_t kReadBeforeTurn = uint64_t{16} << 20;
  static constexpr uint64_t ForReading(uint64_t bytes) {
    return bytes > kReadBeforeTurn ? bytes : 0;
  }

  // Waits for the turn of another thread to end if an index of `bytes` is large
  // (more than 1 MiB); otherwise does nothing.
  explicit LargeIndexTurn(uint64_t bytes);
  ~LargeIndexTurn();
  LargeIndexTurn(const LargeIndexTurn&) = delete;
  LargeIndexTurn& operator=(const LargeIndexTurn&) = delete;

 private:
  const bool waits_;  // this object holds the turn
};

}  // namespace ndlfs::backends
