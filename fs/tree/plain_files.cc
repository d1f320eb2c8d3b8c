// SPDX-License-Identifier: MIT
#include "fs/tree/plain_files.h"

#include <algorithm>
#include <atomic>
#include <new>

#include "model/secret_hash.h"

namespace ndlfs::fs {
namespace {

using Slot = std::atomic_ref<uint64_t>;

// Memory that the system fills with zeros when it is first used.
uint64_t* AllocateZeroed(size_t count) {
  void* const slots = std::calloc(count, sizeof(uint64_t));
  if (slots == nullptr) throw std::bad_alloc();
  return static_cast<uint64_t*>(slots);
}

}  // namespace

PlainFiles::PlainFiles()
    : seed_(model::SecretHash("plain files")), slots_(AllocateZeroed(kSlots)) {}

bool PlainFiles::Contains(const backends::Generation& version) const {
  const uint64_t hash = HashOf(version);
  uint64_t* const bucket = BucketOf(hash);
  return std::any_of(bucket, bucket + kWays, [&](uint64_t& slot) {
    return Slot(slot).load(std::memory_order_relaxed) == hash;
  });
}

// The latest comes first; the one that has been there for longest goes.
void PlainFiles::Add(const backends::Generation& version) {
  uint64_t pushed = HashOf(version);
  uint64_t* const bucket = BucketOf(pushed);
  for (size_t i = 0; i < kWays && pushed != 0; ++i) {
    pushed = Slot(bucket[i]).exchange(pushed, std::memory_order_relaxed);
  }
}

uint64_t PlainFiles::HashOf(const backends::Generation& version) const {
  return std::max<uint64_t>(version.hash(seed_), 1);
}

uint64_t* PlainFiles::BucketOf(uint64_t hash) const {
  return slots_.get() + hash % (kSlots / kWays) * kWays;
}

}  // namespace ndlfs::fs
