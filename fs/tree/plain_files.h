// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "backends/store/store.h"

namespace ndlfs::fs {

// Remembers versions of files that were looked into and are no stores, so that they are not
// looked into a second time. Keeps about the latest 250,000 versions, in 2 MiB. Thread-safe,
// without a lock.
class PlainFiles {
 public:
  PlainFiles();

  bool Contains(const backends::Generation& version) const;
  void Add(const backends::Generation& version);

 private:
  // The slots of one cache line. The hash of a version selects the line; the
  // version is in any of its slots.
  static constexpr size_t kWays = 8;
  static constexpr size_t kSlots = size_t{1} << 18;

  struct Free {
    void operator()(uint64_t* slots) const { std::free(slots); }
  };

  uint64_t HashOf(const backends::Generation& version) const;
  uint64_t* BucketOf(uint64_t hash) const;

  // Random, so that nobody can write files whose versions have the same hash.
  const uint64_t seed_;
  // Hashes of versions; 0: no version. Accessed through std::atomic_ref.
  const std::unique_ptr<uint64_t[], Free> slots_;
};

}  // namespace ndlfs::fs
