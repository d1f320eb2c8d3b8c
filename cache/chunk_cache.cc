// SPDX-License-Identifier: MIT
#include "cache/chunk_cache.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <memory>
#include <new>
#include <utility>

#include "backends/store/caller.h"
#include "backends/store/cancellation.h"
#include "backends/store/metadata_turn.h"
#include "model/memory_budget.h"

namespace ndlfs::cache {

using backends::Bytes;
using backends::CancellationScope;
using model::Error;
using model::MutexLock;
using model::Result;

namespace {

// The memory of an entry without its block: an array can have so many absent chunks that just
// remembering that they are absent would exceed the memory.
constexpr uint64_t kEntryBytes = 512;
constexpr uint64_t kFreeEntries = 64;

// A user who has asked for nothing in this time keeps nothing from others.
constexpr std::chrono::minutes kIdle{1};

// 0 where all is read as this process.
uid_t CurrentUser() {
  const auto& caller = backends::CallerScope::Current();
  return caller ? caller->uid : 0;
}

Result<backends::IndexCache::Weighed> FailCancelled(ChunkCache::Reservation&) {
  return model::Propagate(CancellationScope::Check().error());
}

// Whether a block is not there because nobody waits any more for the request that loaded it.
bool WasCancelledForOthers(const Result<std::shared_ptr<const void>>& block) {
  return !block && block.error().code() == model::ErrorCode::kCancelled &&
         !CancellationScope::IsCancelled();
}

Result<ChunkCache::Handle> ToHandle(Result<std::shared_ptr<const void>> block) {
  if (!block) return model::Propagate(std::move(block).error());
  return std::static_pointer_cast<const Bytes>(*std::move(block));
}

uint64_t BytesOfEntries(uint64_t entries) {
  return entries <= kFreeEntries ? 0 : (entries - kFreeEntries) * kEntryBytes;
}

}  // namespace

struct ChunkCache::Entry {
  Entry(const BlockKey& k, uid_t u) : key(k), user(u) {}
  const BlockKey key;
  const uid_t user;  // the user that the block was loaded for
  // All below is guarded by the cache's mutex.
  Block block;                 // set once ready
  uint64_t bytes = 0;          // of the block
  std::optional<Error> error;  // set if loading failed
  bool in_lru = false;
  bool retired = false;
  uint64_t last_use = 0;
  std::list<EntryPtr>::iterator position;  // valid while in_lru, in the list of its user
};

// A block with its bytes, which are given back when its last handle has gone.
struct ChunkCache::ChargedBlock {
  ChargedBlock(ChunkCache& c, uid_t u) : cache(c), user(u) {}
  ChargedBlock(const ChargedBlock&) = delete;
  ChargedBlock& operator=(const ChargedBlock&) = delete;
  ~ChargedBlock() {
    object.reset();
    if (bytes != 0) cache.Release(user, bytes);
  }
  ChunkCache& cache;
  const uid_t user;
  uint64_t bytes = 0;
  Block object;
};

size_t ChunkCache::KeyHash::operator()(const BlockKey& key) const {
  // Readers ask for blocks in their order: those of one run lie side by side in the table, as
  // they lie in memory, where the processor finds them sooner. The runs are spread by
  // Fibonacci hashing.
  constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;
  constexpr uint64_t kRun = 64;
  uint64_t hash = (key.array * kGolden) ^ (key.block / kRun + 0x632BE59BD9B4E019);
  hash = (hash ^ (hash >> 32)) * kGolden + (key.is_index ? 1 : 0) + 2 * key.part;
  return (hash ^ (hash >> 29)) + key.block % kRun;
}

ChunkCache::ChunkCache(uint64_t budget_bytes, SpillSpace* spill, const LoadPace::Limits& limits)
    : budget_(budget_bytes), spill_(spill), pace_(limits) {
  stats_.budget_bytes = budget_bytes;
  // What others take from the budget of the process.
  model::MemoryBudget::SetCache(this, [this] {
    std::vector<Victim> victims;
    {
      MutexLock lock(mutex_);
      victims = Evict(0);
    }
    LetGo(std::move(victims));
  });
}

ChunkCache::~ChunkCache() {
  model::MemoryBudget::RemoveCache(this);
  // The blocks release their bytes through this object: let go of them while
  // its members still live.
  std::list<EntryPtr> dropped;
  {
    MutexLock lock(mutex_);
    entries_.clear();
    for (auto& [uid, user] : users_) dropped.splice(dropped.end(), user.lru);
  }
}

Result<ChunkCache::Handle> ChunkCache::GetOrLoad(const BlockKey& key, uint64_t block_bytes,
                                                 uint64_t transient_bytes,
                                                 const ReservedLoader& load) {
  NDLFS_RETURN_IF_ERROR(CancellationScope::Check());
  auto [entry, is_new, may_drop, ready] = FindOrInsert(key);
  if (ready) return ToHandle(std::move(ready));
  if (!is_new) {
    auto block = Await(entry);
    if (WasCancelledForOthers(block)) {
      return GetOrLoad(key, block_bytes, transient_bytes, load);
    }
    return ToHandle(std::move(block));
  }
  if (may_drop) DropRetired(entry->user, block_bytes);
  const Reservation reserved(*this, entry->user, block_bytes, transient_bytes);
  if (!Reserve(entry->user, reserved.bytes_)) {
    return ToHandle(Load(entry, {*this, entry->user, 0, 0}, &FailCancelled));
  }
  return ToHandle(Load(entry, reserved, [&](Reservation& reservation) -> Result<Weighed> {
    NDLFS_TRY(Bytes bytes, load(reservation));
    const uint64_t size = bytes.size();
    return Weighed{std::make_shared<const Bytes>(std::move(bytes)), size};
  }));
}

Result<std::shared_ptr<const void>> ChunkCache::GetOrLoadWeighed(
    uint64_t id, uint64_t slot, const std::function<Result<Weighed>()>& load) {
  const auto [entry, is_new, may_drop, ready] = FindOrInsert({id, slot, true});
  if (ready) return ready;
  if (is_new) {
    return Load(entry, {*this, entry->user, 0, 0}, [&](Reservation&) { return load(); });
  }
  auto block = Await(entry);
  return WasCancelledForOthers(block) ? GetOrLoadWeighed(id, slot, load) : block;
}

bool ChunkCache::Contains(const BlockKey& key) const {
  MutexLock lock(mutex_);
  return entries_.contains(key);
}

ChunkCache::Found ChunkCache::FindOrInsert(const BlockKey& key) {
  const auto now = std::chrono::steady_clock::now();
  MutexLock lock(mutex_);
  auto [it, inserted] = entries_.try_emplace(key);
  if (inserted) {
    it->second = std::make_shared<Entry>(key, CurrentUser());
    ++(key.part == 0 ? stats_.misses : stats_.parts);
  } else {
    ++stats_.hits;
  }
  Entry& entry = *it->second;
  User& user = users_[entry.user];
  user.last_use = now;
  entry.last_use = ++last_use_;
  entry.retired = false;
  if (entry.in_lru) user.lru.splice(user.lru.end(), user.lru, entry.position);
  return {it->second, inserted, !user.lru.empty() && user.lru.front()->retired, entry.block};
}

Result<ChunkCache::Block> ChunkCache::Await(const EntryPtr& entry) {
  MutexLock lock(mutex_);
  while (!entry->block && !entry->error) {
    NDLFS_RETURN_IF_ERROR(CancellationScope::Check());
    WaitAWhile(loaded_);
  }
  if (entry->error) return model::Propagate(*entry->error);
  return entry->block;
}

// The end of a request, or of what others take, is no reason to notify everybody who waits.
void ChunkCache::WaitAWhile(model::CondVar& condition) {
  if (CancellationScope::Current() == nullptr && model::MemoryBudget::FromCache() == 0) {
    condition.Wait(mutex_);
  } else {
    condition.WaitFor(mutex_, std::chrono::milliseconds(100));
  }
}

// Exceptions of `load` must not leave this function, because other threads wait for the entry.
Result<ChunkCache::Weighed> ChunkCache::MakeBlock(const BlockLoader& load,
                                                  Reservation& reserved) {
  try {
    CancellationScope::ChargeChunk();
    const auto charged = std::make_shared<ChargedBlock>(*this, reserved.user_);
    NDLFS_TRY(Weighed made, load(reserved));
    Recharge(reserved.user_, std::exchange(reserved.bytes_, 0), made.weight);
    charged->bytes = made.weight;
    charged->object = std::move(made.object);
    return Weighed{Block(charged, charged->object.get()), made.weight};
  } catch (const std::bad_alloc&) {
    return model::IoError(ENOMEM, "decoding");
  } catch (const std::exception& error) {
    return model::Internal("{}", error.what());
  }
}

Result<ChunkCache::Block> ChunkCache::Load(const EntryPtr& entry, Reservation reserved,
                                           const BlockLoader& load) {
  std::list<EntryPtr> node = {entry};
  Result<Weighed> block = MakeBlock(load, reserved);
  std::vector<Victim> victims;
  {
    MutexLock lock(mutex_);
    if (block) {
      stats_.loaded_bytes += block->weight;
      entry->block = block->object;
      entry->bytes = block->weight;
      entry->position = node.begin();
      auto& lru = users_[entry->user].lru;
      lru.splice(lru.end(), node);
      ++blocks_;
      entry->in_lru = true;
      victims = Evict(0);  // where it has become larger than was reserved
    } else {
      const bool is_failure =
          entry->key.part == 0 && block.error().code() != model::ErrorCode::kCancelled;
      if (is_failure) ++stats_.failures;
      entry->error = block.error();
      entries_.erase(entry->key);
    }
    Discharge(entry->user, reserved.bytes_);
    loaded_.NotifyAll();
    released_.NotifyAll();
  }
  LetGo(std::move(victims));
  if (!block) return model::Propagate(block.error());
  return block->object;
}

uint64_t ChunkCache::Charged() const {
  return stats_.used_bytes + BytesOfEntries(blocks_) + model::MemoryBudget::FromCache();
}

void ChunkCache::Charge(uid_t user, uint64_t bytes) {
  stats_.used_bytes += bytes;
  users_[user].bytes += bytes;
}

void ChunkCache::Discharge(uid_t user, uint64_t bytes) {
  stats_.used_bytes -= bytes;
  const auto found = users_.find(user);
  if (found == users_.end()) return;
  found->second.bytes -= bytes;
  if (found->second.bytes == 0 && found->second.lru.empty()) users_.erase(found);
}

// The eighth is for all users together, except the user with the most bytes.
bool ChunkCache::MayExceed(uid_t user, uint64_t bytes) const {
  if (users_.size() < 2) return false;
  const auto most = std::max_element(
      users_.begin(), users_.end(),
      [](const auto& a, const auto& b) { return a.second.bytes < b.second.bytes; });
  return most->first != user && stats_.used_bytes - most->second.bytes + bytes <= budget_ / 8;
}

bool ChunkCache::Reserve(uid_t user, uint64_t bytes) {
  while (!CancellationScope::IsCancelled()) {
    std::vector<Victim> victims;
    {
      MutexLock lock(mutex_);
      if (stats_.used_bytes == 0 || Charged() + bytes <= budget_ ||
          backends::MetadataTurn::IsHeld()) {
        Charge(user, bytes);
        return true;
      }
      victims = Evict(bytes);
      if (victims.empty() && MayExceed(user, bytes)) {
        Charge(user, bytes);
        return true;
      }
      if (victims.empty()) WaitAWhile(released_);
    }
    LetGo(std::move(victims));
  }
  return false;
}

void ChunkCache::DropRetired(uid_t user, uint64_t bytes) {
  std::vector<Victim> victims;
  {
    MutexLock lock(mutex_);
    User& owner = users_[user];
    for (uint64_t left = bytes; !owner.lru.empty() && owner.lru.front()->retired;) {
      const uint64_t size = owner.lru.front()->bytes;
      if (size > left) break;
      left -= size;
      victims.push_back(EvictOldest(owner));
    }
  }
  LetGo(std::move(victims));
}

void ChunkCache::Recharge(uid_t user, uint64_t from, uint64_t to) {
  if (from == to) return;
  MutexLock lock(mutex_);
  Charge(user, to);
  Discharge(user, from);
}

void ChunkCache::Release(uid_t user, uint64_t bytes) {
  MutexLock lock(mutex_);
  Discharge(user, bytes);
  released_.NotifyAll();
}

std::vector<ChunkCache::Victim> ChunkCache::Evict(uint64_t bytes) {
  std::vector<Victim> victims;
  uint64_t leaving = 0;
  while (Charged() - leaving + bytes > budget_) {
    User* user = NextVictim();
    if (user == nullptr) break;
    leaving += user->lru.front()->bytes;
    victims.push_back(EvictOldest(*user));
  }
  return victims;
}

// A retired block is of little worth to anybody.
ChunkCache::User* ChunkCache::NextVictim() {
  if (users_.size() == 1) {
    User& user = users_.begin()->second;
    return user.lru.empty() ? nullptr : &user;
  }
  const auto now = std::chrono::steady_clock::now();
  const uint64_t share = budget_ / std::max<size_t>(users_.size(), 1);
  const auto is_before = [](const User* a, const User* b) {
    if (b == nullptr) return true;
    const Entry& mine = *a->lru.front();
    const Entry& other = *b->lru.front();
    return std::pair(!mine.retired, mine.last_use) < std::pair(!other.retired, other.last_use);
  };
  User* oldest = nullptr;
  User* above_share = nullptr;
  for (auto& [uid, user] : users_) {
    if (user.lru.empty()) continue;
    if (is_before(&user, oldest)) oldest = &user;
    const bool may_lose =
        user.bytes > share || user.lru.front()->retired || now - user.last_use > kIdle;
    if (may_lose && is_before(&user, above_share)) above_share = &user;
  }
  return above_share != nullptr ? above_share : oldest;
}

ChunkCache::Victim ChunkCache::EvictOldest(User& user) {
  const EntryPtr entry = user.lru.front();
  user.lru.pop_front();
  --blocks_;
  entry->in_lru = false;
  ++stats_.evictions;
  auto overflow = OverflowFor(*entry);
  if (overflow == nullptr) entries_.erase(entry->key);
  return {entry, std::move(overflow)};
}

std::shared_ptr<ChunkCache::Overflow> ChunkCache::OverflowFor(const Entry& entry) {
  const auto found = overflows_.find(entry.key.array);
  const bool nothing = entry.key.is_index || entry.key.part != 0 || entry.bytes == 0;
  if (nothing || found == overflows_.end()) return nullptr;
  return found->second->Wants(entry.key.block) ? found->second : nullptr;
}

void ChunkCache::LetGo(std::vector<Victim> victims) {
  // The bytes are given back one block after the other: others wait for them.
  for (Victim& victim : victims) {
    if (victim.overflow != nullptr) {
      const EntryPtr& entry = victim.entry;
      try {
        victim.overflow->Take(entry->key.block, *static_cast<const Bytes*>(entry->block.get()));
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
  users_[entry->user].lru.erase(entry->position);
  --blocks_;
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
  auto& lru = users_[found->second->user].lru;
  lru.splice(lru.begin(), lru, found->second->position);
}

void ChunkCache::Forget(uint64_t array) {
  std::vector<EntryPtr> dropped;  // outlives the lock: see LetGo
  {
    MutexLock lock(mutex_);
    for (auto& [uid, user] : users_) {
      for (auto it = user.lru.begin(); it != user.lru.end();) {
        const EntryPtr entry = *it++;
        if (entry->key.array != array) continue;
        dropped.push_back(entry);
        Unlink(entry);
      }
    }
  }
}

ChunkCache::Stats ChunkCache::stats() const {
  MutexLock lock(mutex_);
  Stats stats = stats_;
  stats.blocks = blocks_;
  return stats;
}

}  // namespace ndlfs::cache
