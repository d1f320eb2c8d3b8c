// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "backends/store/store.h"

namespace ndlfs::fs {

// Versions of files that have been looked into and do not begin like a store,
// so that nobody looks a second time. Keeps the latest quarter of a million or
// so, in 2 MiB. Thread-safe, without a lock.
class PlainFiles {
 public:
  PlainFiles();

  bool Contains(const backends::Generation& version) const;
  void Add(const backends::Generation& version);

 private:
  // One cache line of slots: a version is in one of those that its hash tells.
  static constexpr size_t kWays = 8;
  static constexpr size_t kSlots = size_t{1} << 18;

  struct Free {
    void operator()(uint64_t* slots) const { std::free(slots); }
  };

  uint64_t HashOf(const backends::Generation& version) const;
  uint64_t* BucketOf(uint64_t hash) const;

  // Nobody who writes files can make two versions that have one hash.
  const uint64_t seed_;
  // Hashes; 0 where there is none. Atomic by std::atomic_ref.
  const std::unique_ptr<uint64_t[], Free> slots_;
};

}  // namespace ndlfs::fs
