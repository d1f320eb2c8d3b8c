// SPDX-License-Identifier: MIT
#include "cache/chunk_cache.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <memory>
#include <new>
#include <utility>

#include "backends/store/cancellation.h"

namespace ndlfs::cache {

using backends::Bytes;
using backends::CancellationScope;
using model::Error;
using model::MutexLock;
using model::Result;

namespace {

// What an entry takes besides its block: an array can have more absent chunks
// than there is memory for the knowledge that they are absent.
constexpr uint64_t kEntryBytes = 512;
constexpr uint64_t kFreeEntries = 64;

Result<Bytes> FailCancelled() { return model::Propagate(CancellationScope::Check().error()); }

// Whether a block is not there because nobody waits any more for the request that loaded it.
bool WasCancelledForOthers(const Result<ChunkCache::Handle>& block) {
  return !block && backends::IsCancellation(block.error()) && !CancellationScope::IsCancelled();
}

uint64_t BytesOfEntries(uint64_t entries) {
  return entries <= kFreeEntries ? 0 : (entries - kFreeEntries) * kEntryBytes;
}

}  // namespace

struct ChunkCache::Entry {
  explicit Entry(const BlockKey& k) : key(k) {}
  const BlockKey key;
  // All below is guarded by the cache's mutex.
  Handle block;                // set once ready
  std::optional<Error> error;  // set if loading failed
  bool in_lru = false;
  bool retired = false;
  std::list<EntryPtr>::iterator position;  // valid while in_lru
};

size_t ChunkCache::KeyHash::operator()(const BlockKey& key) const {
  // Fibonacci hashing of both numbers; neighbours must not share buckets.
  constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;
  uint64_t hash = (key.array * kGolden) ^ (key.block + 0x632BE59BD9B4E019);
  hash = (hash ^ (hash >> 32)) * kGolden + (key.is_index ? 1 : 0) + 2 * key.part;
  return hash ^ (hash >> 29);
}

ChunkCache::ChunkCache(uint64_t budget_bytes, SpillSpace* spill, const LoadPace::Limits& limits)
    : budget_(budget_bytes), spill_(spill), pace_(limits) {
  stats_.budget_bytes = budget_bytes;
}

ChunkCache::~ChunkCache() {
  // The blocks release their bytes through this object: let go of them while
  // its members still live.
  std::list<EntryPtr> dropped;
  {
    MutexLock lock(mutex_);
    entries_.clear();
    dropped.swap(lru_);
  }
}

Result<ChunkCache::Handle> ChunkCache::GetOrLoad(const BlockKey& key, uint64_t block_bytes,
                                                 uint64_t transient_bytes, const Loader& load) {
  NDLFS_RETURN_IF_ERROR(CancellationScope::Check());
  bool is_new = false;
  const EntryPtr entry = FindOrInsert(key, is_new);
  if (!is_new) {
    auto block = Await(entry);
    if (!WasCancelledForOthers(block)) return block;
    return GetOrLoad(key, block_bytes, transient_bytes, load);
  }
  DropRetired(block_bytes);
  const uint64_t reserved = block_bytes + transient_bytes;
  if (!Reserve(reserved)) return Load(entry, 0, &FailCancelled);
  return Load(entry, reserved, load);
}

Result<ChunkCache::Handle> ChunkCache::GetOrLoad(uint64_t id, uint64_t slot,
                                                 const std::function<Result<Bytes>()>& load) {
  bool is_new = false;
  const EntryPtr entry = FindOrInsert({id, slot, true}, is_new);
  if (is_new) return Load(entry, 0, load);
  auto block = Await(entry);
  return WasCancelledForOthers(block) ? GetOrLoad(id, slot, load) : block;
}

bool ChunkCache::Contains(const BlockKey& key) const {
  MutexLock lock(mutex_);
  return entries_.contains(key);
}

ChunkCache::EntryPtr ChunkCache::FindOrInsert(const BlockKey& key, bool& is_new) {
  MutexLock lock(mutex_);
  auto [it, inserted] = entries_.try_emplace(key);
  is_new = inserted;
  if (inserted) {
    it->second = std::make_shared<Entry>(key);
    ++(key.part == 0 ? stats_.misses : stats_.parts);
  } else {
    ++stats_.hits;
    Entry& entry = *it->second;
    if (entry.in_lru) lru_.splice(lru_.end(), lru_, entry.position);
    entry.retired = false;
  }
  return it->second;
}

Result<ChunkCache::Handle> ChunkCache::Await(const EntryPtr& entry) {
  MutexLock lock(mutex_);
  while (!entry->block && !entry->error) {
    NDLFS_RETURN_IF_ERROR(CancellationScope::Check());
    WaitAWhile(loaded_);
  }
  if (entry->error) return model::Propagate(*entry->error);
  return entry->block;
}

// The end of a request is no reason to notify everybody who waits.
void ChunkCache::WaitAWhile(model::CondVar& condition) {
  if (CancellationScope::Current() == nullptr) {
    condition.Wait(mutex_);
  } else {
    condition.WaitFor(mutex_, std::chrono::milliseconds(100));
  }
}

// What is thrown here must not get past: others wait for this entry.
Result<ChunkCache::Handle> ChunkCache::MakeBlock(const Loader& load, uint64_t& reserved) {
  try {
    NDLFS_TRY(Bytes bytes, load());
    auto loaded = std::make_unique<const Bytes>(std::move(bytes));
    const uint64_t size = loaded->size();
    Recharge(std::exchange(reserved, 0), size);
    return Handle(loaded.release(), [this, size](const Bytes* block) {
      delete block;
      Release(size);
    });
  } catch (const std::bad_alloc&) {
    return model::IoError(ENOMEM, "decoding");
  } catch (const std::exception& error) {
    return model::Internal("{}", error.what());
  }
}

Result<ChunkCache::Handle> ChunkCache::Load(const EntryPtr& entry, uint64_t reserved,
                                            const Loader& load) {
  std::list<EntryPtr> node = {entry};
  Result<Handle> block = MakeBlock(load, reserved);
  std::vector<Victim> victims;
  {
    MutexLock lock(mutex_);
    stats_.used_bytes -= reserved;
    if (block) {
      stats_.loaded_bytes += (*block)->size();
      entry->block = *block;
      entry->position = node.begin();
      lru_.splice(lru_.end(), node);
      entry->in_lru = true;
      victims = Evict(0);  // where it has become larger than was reserved
    } else {
      const bool is_failure = entry->key.part == 0 && !backends::IsCancellation(block.error());
      if (is_failure) ++stats_.failures;
      entry->error = block.error();
      entries_.erase(entry->key);
    }
    loaded_.NotifyAll();
    released_.NotifyAll();
  }
  LetGo(std::move(victims));
  return block;
}

uint64_t ChunkCache::Charged() const { return stats_.used_bytes + BytesOfEntries(lru_.size()); }

bool ChunkCache::Reserve(uint64_t bytes) {
  while (!CancellationScope::IsCancelled()) {
    std::vector<Victim> victims;
    {
      MutexLock lock(mutex_);
      if (stats_.used_bytes == 0 || Charged() + bytes <= budget_) {
        stats_.used_bytes += bytes;
        return true;
      }
      victims = Evict(bytes);
      if (victims.empty()) WaitAWhile(released_);
    }
    LetGo(std::move(victims));
  }
  return false;
}

void ChunkCache::DropRetired(uint64_t bytes) {
  std::vector<Victim> victims;
  {
    MutexLock lock(mutex_);
    for (uint64_t left = bytes; !lru_.empty() && lru_.front()->retired;) {
      const uint64_t size = lru_.front()->block->size();
      if (size > left) break;
      left -= size;
      victims.push_back(EvictOldest());
    }
  }
  LetGo(std::move(victims));
}

void ChunkCache::Recharge(uint64_t from, uint64_t to) {
  MutexLock lock(mutex_);
  stats_.used_bytes += to;
  stats_.used_bytes -= from;
}

void ChunkCache::Release(uint64_t bytes) {
  MutexLock lock(mutex_);
  stats_.used_bytes -= bytes;
  released_.NotifyAll();
}

std::vector<ChunkCache::Victim> ChunkCache::Evict(uint64_t bytes) {
  std::vector<Victim> victims;
  uint64_t leaving = 0;
  while (!lru_.empty() && Charged() - leaving + bytes > budget_) {
    leaving += lru_.front()->block->size();
    victims.push_back(EvictOldest());
  }
  return victims;
}

ChunkCache::Victim ChunkCache::EvictOldest() {
  const EntryPtr entry = lru_.front();
  lru_.pop_front();
  entry->in_lru = false;
  ++stats_.evictions;
  auto overflow = OverflowFor(*entry);
  if (overflow == nullptr) entries_.erase(entry->key);
  return {entry, std::move(overflow)};
}

std::shared_ptr<ChunkCache::Overflow> ChunkCache::OverflowFor(const Entry& entry) {
  const auto found = overflows_.find(entry.key.array);
  const bool nothing = entry.key.is_index || entry.key.part != 0 || entry.block->empty();
  if (nothing || found == overflows_.end()) return nullptr;
  return found->second->Wants(entry.key.block) ? found->second : nullptr;
}

void ChunkCache::LetGo(std::vector<Victim> victims) {
  // The bytes are given back one block after the other: others wait for them.
  for (Victim& victim : victims) {
    if (victim.overflow != nullptr) {
      const EntryPtr& entry = victim.entry;
      try {
        victim.overflow->Take(entry->key.block, *entry->block);
      } catch (const std::exception&) {  // it is decoded again
      }
      MutexLock lock(mutex_);
      const auto found = entries_.find(entry->key);
      if (found != entries_.end() && found->second == entry) entries_.erase(found);
    }
    // Threads that are about to take it from Await() still find it there.
    victim.entry.reset();
  }
}

void ChunkCache::Unlink(const EntryPtr& entry) {
  lru_.erase(entry->position);
  entry->in_lru = false;
  entries_.erase(entry->key);
}

void ChunkCache::AddOverflow(uint64_t array, std::shared_ptr<Overflow> overflow) {
  MutexLock lock(mutex_);
  overflows_[array].swap(overflow);  // destroyed after the lock is given back
}

void ChunkCache::RemoveOverflow(uint64_t array, const Overflow* overflow) {
  std::shared_ptr<Overflow> removed;  // outlives the lock
  MutexLock lock(mutex_);
  const auto found = overflows_.find(array);
  if (found == overflows_.end() || found->second.get() != overflow) return;
  removed = std::move(found->second);
  overflows_.erase(found);
}

void ChunkCache::Retire(const BlockKey& key) {
  MutexLock lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end() || !found->second->in_lru) return;
  found->second->retired = true;
  lru_.splice(lru_.begin(), lru_, found->second->position);
}

void ChunkCache::Forget(uint64_t array) {
  std::vector<EntryPtr> dropped;  // outlives the lock: see LetGo
  {
    MutexLock lock(mutex_);
    for (auto it = lru_.begin(); it != lru_.end();) {
      const EntryPtr entry = *it++;
      if (entry->key.array != array) continue;
      dropped.push_back(entry);
      Unlink(entry);
    }
  }
}

ChunkCache::Stats ChunkCache::stats() const {
  MutexLock lock(mutex_);
  Stats stats = stats_;
  stats.blocks = lru_.size();
  return stats;
}

}  // namespace ndlfs::cache
