// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/codec/decode_times.h"
#include "backends/format/array_source.h"
#include "cache/load_pace.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::cache {

class SpillSpace;

// The key of a cached block: an array (ArraySource::id()) and the linear index
// of one of its chunks or, if `is_index` is true, an id and a slot of IndexCache.
struct BlockKey {
  uint64_t array = 0;
  uint64_t block = 0;
  bool is_index = false;
  uint64_t part = 0;  // number of a part of the chunk, from 1; 0: the whole chunk
  bool operator==(const BlockKey&) const = default;
};

// Keeps decoded chunks. Charges their bytes against one budget for the whole mount.
//
// A load charges the bytes of its block, and of the buffers that it needs, before it allocates
// them. If they do not fit into the budget, it evicts other blocks. If there is nothing to
// evict, it waits until other threads release blocks. A load that finds nothing charged at all
// may exceed the budget, so that a block larger than the budget can be loaded, alone. A block
// stays charged until its last handle is gone, even after its eviction. Concurrent misses on
// one block load it once. The least recently used block is evicted first. Thread-safe; the
// cache holds no lock while it loads a block.
//
// A block belongs to the user for whom it was loaded (backends/store/caller.h). The budget is
// shared equally among users. The cache first evicts blocks of users who hold more than their
// share, and of users who have asked for no block in the last minute. A user whose loads would
// have to wait for those of another user may use another eighth of the budget in addition.
class ChunkCache final : public backends::IndexCache {
 public:
  // `spill` may be null; it must outlive the cache.
  explicit ChunkCache(uint64_t budget_bytes, SpillSpace* spill = nullptr,
                      const LoadPace::Limits& limits = {});
  // All handles must be released before.
  ~ChunkCache() override;

  // Keeps a block in memory. Hold a handle only while you copy from the block.
  // A thread that holds one must not ask for another block: two such threads
  // could wait for each other's bytes.
  using Handle = std::shared_ptr<const backends::Bytes>;

  // The memory that a running load is charged with. Only the thread that loads uses it.
  class Reservation {
   public:
    // The load turns out to need only `transient_bytes` of memory in addition to the block.
    // Gives the rest back to other loads.
    void NeedsOnly(uint64_t transient_bytes) {
      if (transient_bytes >= transient_) return;
      const uint64_t rest = transient_ - transient_bytes;
      transient_ = transient_bytes;
      bytes_ -= rest;
      cache_.Release(user_, rest);
    }

   private:
    friend class ChunkCache;
    Reservation(ChunkCache& cache, uid_t user, uint64_t block_bytes, uint64_t transient_bytes)
        : cache_(cache),
          user_(user),
          bytes_(block_bytes + transient_bytes),
          transient_(transient_bytes) {}

    ChunkCache& cache_;
    const uid_t user_;
    uint64_t bytes_;
    uint64_t transient_;  // the part of these that is not the block
  };

  // Makes the contents of a block.
  using Loader = std::function<model::Result<backends::Bytes>()>;
  using ReservedLoader = std::function<model::Result<backends::Bytes>(Reservation&)>;

  // Returns the block, and loads it first if it is not in the cache. `block_bytes` is the size
  // that the block is expected to have; its true size is charged after the load.
  // `transient_bytes` is the most memory that the load needs in addition. A failed load is not
  // kept: all callers that waited for it get the error, and the next caller tries again. Fails
  // if the request of the calling thread has ended (backends/store/cancellation.h), instead of
  // starting a load or waiting for one. Other threads that wait for the same block then load it
  // themselves.
  model::Result<Handle> GetOrLoad(const BlockKey& key, uint64_t block_bytes,
                                  uint64_t transient_bytes, const ReservedLoader& load);
  model::Result<Handle> GetOrLoad(const BlockKey& key, uint64_t block_bytes,
                                  uint64_t transient_bytes, const Loader& load) {
    return GetOrLoad(key, block_bytes, transient_bytes, [&](Reservation&) { return load(); });
  }

  // Implements IndexCache. Never waits for the budget, because the caller is loading a chunk
  // and is charged with its bytes already.
  using IndexCache::GetOrLoad;
  model::Result<std::shared_ptr<const void>> GetOrLoadWeighed(
      uint64_t id, uint64_t slot, const std::function<model::Result<Weighed>()>& load) override;

  uint64_t budget_bytes() const { return budget_; }

  // Whether the block is in the cache or being loaded.
  bool Contains(const BlockKey& key) const;

  // Tells that a reader has finished with a block. The block is evicted first, when the next
  // block is loaded, and its memory is given to that block. A request for the block revokes
  // this.
  void Retire(const BlockKey& key);

  // Drops the blocks of an array that is gone or has changed.
  void Forget(uint64_t array);

  // Takes over blocks that are evicted although readers will need them again.
  class Overflow {
   public:
    virtual ~Overflow() = default;
    // Whether a reader will need the block again. Called under the lock of the
    // cache: must be quick and must not use the cache.
    virtual bool Wants(uint64_t block) = 0;
    // Takes over a block for which Wants() was true. Readers find the block in
    // the cache until this call returns. Called without a lock.
    virtual void Take(uint64_t block, const backends::Bytes& bytes) = 0;
  };
  // Offers evicted blocks of `array` to `overflow`, until RemoveOverflow(). Replaces an earlier
  // overflow of the array.
  void AddOverflow(uint64_t array, std::shared_ptr<Overflow> overflow);
  void RemoveOverflow(uint64_t array, const Overflow* overflow);

  // Disk space for the overflows of arrays; may be null.
  SpillSpace* spill_space() const { return spill_; }

  // How many loads run at once.
  LoadPace& pace() { return pace_; }
  const LoadPace& pace() const { return pace_; }

  // Counts what the codecs decode, for all chunks but not for parts of chunks.
  backends::DecodeTimes& decode_times() { return decode_times_; }
  const backends::DecodeTimes& decode_times() const { return decode_times_; }

  struct Stats {
    uint64_t budget_bytes = 0;
    uint64_t used_bytes = 0;  // blocks, pinned ones included, and loads in flight
    uint64_t blocks = 0;
    uint64_t hits = 0;
    uint64_t misses = 0;  // loads begun, except loads of parts
    uint64_t parts = 0;   // loads of parts of chunks begun
    uint64_t loaded_bytes = 0;
    uint64_t evictions = 0;
    uint64_t failures = 0;  // loads that failed, except loads of parts
  };
  Stats stats() const;

 private:
  struct KeyHash {
    size_t operator()(const BlockKey& key) const;
  };
  struct Entry;
  struct ChargedBlock;
  using EntryPtr = std::shared_ptr<Entry>;
  // The blocks and the charged bytes of one user.
  struct User {
    uint64_t bytes = 0;  // charged: blocks, pinned ones included, and loads in flight
    // Ready entries: retired ones, and then the others, oldest first.
    std::list<EntryPtr> lru;
    std::chrono::steady_clock::time_point last_use;
  };

  // All charged bytes: those of blocks and loads and, if there are many entries, those of the
  // entries themselves (an absent chunk is an entry without a block).
  uint64_t Charged() const REQUIRES(mutex_);
  // The block of an entry: Bytes or, of an index, any object.
  using Block = std::shared_ptr<const void>;
  struct Found {
    EntryPtr entry;
    bool is_new;    // this caller has to load the block
    bool may_drop;  // its user has retired blocks
    Block ready;    // null if the block is being loaded
  };
  Found FindOrInsert(const BlockKey& key) EXCLUDES(mutex_);
  using BlockLoader = std::function<model::Result<Weighed>(Reservation&)>;
  model::Result<Block> Await(const EntryPtr& entry) EXCLUDES(mutex_);
  // Runs `load` for an entry, for which `reserved` is charged.
  model::Result<Block> Load(const EntryPtr& entry, Reservation reserved,
                            const BlockLoader& load);
  // Runs `load`, and charges the block that it makes instead of `reserved`, which becomes
  // empty.
  model::Result<Weighed> MakeBlock(const BlockLoader& load, Reservation& reserved)
      EXCLUDES(mutex_);
  void Recharge(uid_t user, uint64_t from, uint64_t to) EXCLUDES(mutex_);
  // Evicts retired blocks of `user` of up to `bytes` bytes in total.
  void DropRetired(uid_t user, uint64_t bytes) EXCLUDES(mutex_);
  // False if the request of this thread has ended meanwhile.
  bool Reserve(uid_t user, uint64_t bytes) EXCLUDES(mutex_);
  // Whether `user` may use the extra eighth of the budget, because it would have to wait for
  // another user.
  bool MayExceed(uid_t user, uint64_t bytes) const REQUIRES(mutex_);
  void Charge(uid_t user, uint64_t bytes) REQUIRES(mutex_);
  void Discharge(uid_t user, uint64_t bytes) REQUIRES(mutex_);
  // Waits for `condition`, but returns now and then if the request of this thread can end.
  void WaitAWhile(model::CondVar& condition) REQUIRES(mutex_);
  void Release(uid_t user, uint64_t bytes) EXCLUDES(mutex_);
  // An entry that Evict() has taken out. If it has an overflow, readers can still find it.
  struct Victim {
    EntryPtr entry;
    std::shared_ptr<Overflow> overflow;
  };
  // Takes out the least recently used blocks until `bytes` more bytes would fit. The caller
  // must pass them to LetGo() without the mutex; only LetGo() releases their bytes.
  std::vector<Victim> Evict(uint64_t bytes) REQUIRES(mutex_);
  // The user whose oldest block is evicted next; null if there is no block.
  User* NextVictim() REQUIRES(mutex_);
  // Takes out the oldest block of `user`, which has one.
  Victim EvictOldest(User& user) REQUIRES(mutex_);
  void LetGo(std::vector<Victim> victims) EXCLUDES(mutex_);
  std::shared_ptr<Overflow> OverflowFor(const Entry& entry) REQUIRES(mutex_);
  void Unlink(const EntryPtr& entry) REQUIRES(mutex_);

  const uint64_t budget_;
  SpillSpace* const spill_;
  LoadPace pace_;
  backends::DecodeTimes decode_times_;
  mutable model::Mutex mutex_;
  model::CondVar released_;  // bytes were given back
  model::CondVar loaded_;    // an entry became ready, or failed
  std::unordered_map<BlockKey, EntryPtr, KeyHash> entries_ GUARDED_BY(mutex_);
  // One for each user with charged bytes or with blocks; only one on a mount that is not
  // shared.
  std::map<uid_t, User> users_ GUARDED_BY(mutex_);
  uint64_t blocks_ GUARDED_BY(mutex_) = 0;    // ready entries
  uint64_t last_use_ GUARDED_BY(mutex_) = 0;  // number of the last use of a block
  std::unordered_map<uint64_t, std::shared_ptr<Overflow>> overflows_ GUARDED_BY(mutex_);
  Stats stats_ GUARDED_BY(mutex_);
};

}  // namespace ndlfs::cache
