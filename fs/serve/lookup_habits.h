// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace ndlfs::fs {

// Remembers which threads of programs look up the files that they list. `du` does, and a
// listing that tells it the attributes of all files saves a request for each. `find` does not,
// and the attributes would be found in vain. This is a guess: threads may share a place here.
// Thread-safe.
class LookupHabits {
 public:
  // Notes that the thread `caller` has looked up a file in a folder.
  void NoteLookup(pid_t caller) {
    Place(caller).store(Entry(caller, kListings), std::memory_order_relaxed);
  }

  // Called when `caller` begins to list a folder. Returns whether it will probably look up the
  // files in it. After some listings returns false once, because lookups are only seen after a
  // listing without attributes.
  bool ExpectsLookups(pid_t caller) {
    std::atomic<uint64_t>& place = Place(caller);
    const uint64_t entry = place.load(std::memory_order_relaxed);
    const bool expects = entry >> 32 == static_cast<uint32_t>(caller) && (entry & kCount) != 0;
    if (expects) place.store(entry - 1, std::memory_order_relaxed);
    return expects;
  }

 private:
  static constexpr uint64_t kListings = 32;
  static constexpr uint64_t kCount = 0xffff'ffff;

  static uint64_t Entry(pid_t caller, uint64_t listings) {
    return uint64_t{static_cast<uint32_t>(caller)} << 32 | listings;
  }
  std::atomic<uint64_t>& Place(pid_t caller) {
    return places_[static_cast<uint32_t>(caller) % places_.size()];
  }

  // Each place has the id of a thread and the number of listings for which the answer is still
  // true.
  std::array<std::atomic<uint64_t>, 256> places_{};
};

}  // namespace ndlfs::fs
