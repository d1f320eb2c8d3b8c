// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <utility>

#include "model/error.h"

namespace ndlfs::backends {

// Shares out, among all threads, the memory in which metadata are read and parsed. A parser
// takes a turn before it allocates, for the most that it may need:
//
//   NDLFS_TRY(const auto turn, MetadataTurn::Take(kBytesOfTree * size));
//
// The metadata that remain afterwards count for the caches that keep them.
//
// All turns together take kMost bytes. Half of that is for turns of up to kMost / 2. The other
// half is for one larger turn at a time. So only those who ask for a directory of hundreds of
// megabytes wait for another such directory. Users (backends/store/caller.h) take turns;
// requests of one user come in the order of their arrival. Turns of less than kSmall bytes do
// not wait.
class MetadataTurn {
 public:
  static constexpr uint64_t kMost = uint64_t{32} << 20;
  static constexpr uint64_t kSmall = uint64_t{128} << 10;

  // Waits until there is room. A thread that has a turn gets another one at once. Fails only if
  // nobody waits for the answer any more (kCancelled).
  static model::Result<MetadataTurn> Take(uint64_t bytes);
  // Whether this thread has one. A thread with a turn must not wait for a thread that may wait
  // for one.
  static bool IsHeld();

  // Read an index of more bytes within its turn. Read a smaller one before the turn, because a
  // source may take long to answer, and so few bytes need no turn.
  static constexpr uint64_t kReadBeforeTurn = uint64_t{1} << 20;
  static constexpr uint64_t ForReading(uint64_t bytes) {
    return bytes > kReadBeforeTurn ? bytes : 0;
  }

  MetadataTurn(MetadataTurn&& other) noexcept
      : bytes_(std::exchange(other.bytes_, 0)), user_(other.user_) {}
  MetadataTurn& operator=(MetadataTurn&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(user_, other.user_);
    return *this;
  }
  // Call it on the thread that has taken the turn. The end of a large turn returns the free
  // memory of the heap to the system.
  ~MetadataTurn();

 private:
  MetadataTurn(uint64_t bytes, uint64_t user) : bytes_(bytes), user_(user) {}

  uint64_t bytes_;  // 0: a turn that did not have to wait, and is not counted
  uint64_t user_;
};

}  // namespace ndlfs::backends
