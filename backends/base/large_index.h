// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace ndlfs::backends {

// Reading an index (consolidated metadata, references, the directory of an
// archive) and taking it apart takes several times its size, for which no
// memory is set aside. While one of these lives, no other one of a large index
// does, but on the same thread; what was needed for the moment then goes back
// to the system.
class LargeIndexTurn {
 public:
  // Waits for its turn if an index of `bytes` is large.
  explicit LargeIndexTurn(uint64_t bytes);
  ~LargeIndexTurn();
  LargeIndexTurn(const LargeIndexTurn&) = delete;
  LargeIndexTurn& operator=(const LargeIndexTurn&) = delete;

 private:
  const bool waits_;  // for others, and they for this
};

}  // namespace ndlfs::backends
