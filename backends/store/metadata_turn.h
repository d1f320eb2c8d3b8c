// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <utility>

#include "model/error.h"

namespace ndlfs::backends {

// The memory in which metadata are read and parsed, shared out among all threads. A parser
// takes a turn before it allocates, for the most that it may need:
//   NDLFS_TRY(const auto turn, MetadataTurn::Take(kBytesOfTree * size));
// What remains of the metadata afterwards counts for the caches that keep it.
//
// All turns together take kMost bytes. Half of that is for turns of kMost / 2 at most. The
// other half is for one turn that needs more, of which there is one at a time: so nobody waits
// for a directory of hundreds of megabytes but those who ask for another such directory. Users
// (backends/store/caller.h) take turns; those of one user come in the order of their arrival.
// Turns of less than kSmall bytes do not wait.
class MetadataTurn {
 public:
  static constexpr uint64_t kMost = uint64_t{48} << 20;
  static constexpr uint64_t kSmall = uint64_t{128} << 10;

  // Waits until there is room. A thread that has a turn gets another one at once. Fails only if
  // nobody waits for the answer any more (kCancelled).
  static model::Result<MetadataTurn> Take(uint64_t bytes);

  // An index of more than this is read within its turn. A smaller one is better read before,
  // because a source may take long to answer; with this many bytes the turn is for nothing.
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
  // On the thread that has taken it. The end of a large turn returns the free memory of the
  // heap to the system.
  ~MetadataTurn();

 private:
  MetadataTurn(uint64_t bytes, uint64_t user) : bytes_(bytes), user_(user) {}

  uint64_t bytes_;  // 0: it did not have to wait, and counts for nothing
  uint64_t user_;
};

}  // namespace ndlfs::backends
