// SPDX-License-Identifier: MIT
#include "model/memory_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "model/mutex.h"

namespace ndlfs::model {
namespace {

std::atomic<uint64_t> cache_size{uint64_t{512} << 20};
std::atomic<uint64_t> most_for_chunk{UINT64_MAX};
std::atomic<uint64_t> most_held{UINT64_MAX};
std::atomic<uint64_t> charged{0};

struct BudgetedCache {
  Mutex mutex;
  const void* cache GUARDED_BY(mutex) = nullptr;
  std::function<void()> make_room GUARDED_BY(mutex);
};
BudgetedCache& CacheOfProcess() {
  static BudgetedCache cache;
  return cache;
}

}  // namespace

void MemoryBudget::Begin(uint64_t cache_bytes, uint64_t chunk_bytes) {
  // Of metadata that are being parsed, except for one index at a time.
  constexpr uint64_t kTurns = uint64_t{16} << 20, kLeastCache = uint64_t{12} << 20;
  static_assert(AllShares(kLeastCache) + kTurns <= kCharged + kLeastCache);
  cache_size = cache_bytes;
  most_for_chunk = std::max(cache_bytes, chunk_bytes) + kLoad;
  most_held = cache_bytes + kCharged;
}

uint64_t MemoryBudget::Share(Pool pool) { return Share(pool, cache_size); }

uint64_t MemoryBudget::MostForChunk() { return most_for_chunk; }

Result<void> MemoryBudget::CheckChunk(uint64_t bytes) {
  if (bytes <= most_for_chunk) return {};
  return Limit(
      "decoding a chunk takes {} bytes of memory; --cache-size and --max-chunk-size let it "
      "take "
      "{}",
      bytes, most_for_chunk.load());
}

void MemoryBudget::Change(uint64_t from, uint64_t to) {
  const uint64_t now = charged.fetch_add(to - from) + (to - from);
  if (to <= from || now <= kCharged) return;
  BudgetedCache& budgeted = CacheOfProcess();
  const MutexLock lock(budgeted.mutex);
  if (budgeted.make_room) budgeted.make_room();
}

uint64_t MemoryBudget::FromCache() {
  const uint64_t now = charged;
  return now - std::min(now, kCharged);
}

Result<void> MemoryBudget::Held::Grow(uint64_t bytes) {
  if (const uint64_t all = bytes_ + bytes; all > most_held) {
    return IoError(ENOMEM, fmt::format("--cache-size would have to be {} MiB larger",
                                       ((all - most_held) >> 20) + 1));
  }
  Change(bytes_, bytes_ + bytes);
  bytes_ += bytes;
  return {};
}

void MemoryBudget::SetCache(const void* cache, std::function<void()> make_room) {
  BudgetedCache& budgeted = CacheOfProcess();
  const MutexLock lock(budgeted.mutex);
  budgeted.cache = cache;
  budgeted.make_room = std::move(make_room);
}

void MemoryBudget::RemoveCache(const void* cache) {
  BudgetedCache& budgeted = CacheOfProcess();
  const MutexLock lock(budgeted.mutex);
  if (budgeted.cache == cache) budgeted.make_room = nullptr;
}

}  // namespace ndlfs::model
