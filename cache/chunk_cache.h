// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/format/array_source.h"
#include "cache/load_pace.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::cache {

class SpillSpace;

// What a cached block is known by: an array (ArraySource::id()) and the linear
// index of one of its chunks, or with `is_index` a slot of its IndexCache.
struct BlockKey {
  uint64_t array = 0;
  uint64_t block = 0;
  bool is_index = false;
  uint64_t part = 0;  // of a chunk, from 1; 0: all of it
  bool operator==(const BlockKey&) const = default;
};

// Decoded chunks, charged by bytes against one budget for the whole mount.
//
// What is being decoded is charged before it is allocated, together with the
// buffers that takes; who finds the budget taken evicts, and where nothing can
// be evicted waits. Whoever finds nothing charged at all is let through, so
// that a block larger than the budget still can be had, alone. A block stays
// charged until the last handle to it is gone, also when it has been evicted.
// Concurrent misses on one block load it once. Least recently used blocks go
// first. Thread-safe; no lock is held while a block is loaded.
class ChunkCache final : public backends::IndexCache {
 public:
  // `spill` may be null; it must outlive the cache.
  explicit ChunkCache(uint64_t budget_bytes, SpillSpace* spill = nullptr,
                      const LoadPace::Limits& limits = {});
  // All handles must be gone by then.
  ~ChunkCache() override;

  // A block stays in memory as long as one of these lives. Hold one only while
  // copying from it: a thread that holds one must not ask for another, or two
  // such threads could wait for each other's bytes.
  using Handle = std::shared_ptr<const backends::Bytes>;

  // Makes a block.
  using Loader = std::function<model::Result<backends::Bytes>()>;

  // The block, loaded if need be. `block_bytes` is what it is expected to
  // occupy (what it really does is charged afterwards) and `transient_bytes`
  // what loading takes besides. A failed load is not kept: everyone who waited
  // for it gets the error, the next one tries again.
  model::Result<Handle> GetOrLoad(const BlockKey& key, uint64_t block_bytes,
                                  uint64_t transient_bytes, const Loader& load);

  // IndexCache. Never waits for the budget, because it is called while a chunk
  // is being loaded that has its share of it already.
  model::Result<Handle> GetOrLoad(
      uint64_t id, uint64_t slot,
      const std::function<model::Result<backends::Bytes>()>& load) override;

  uint64_t budget_bytes() const { return budget_; }

  // Whether the block is there or on its way.
  bool Contains(const BlockKey& key) const;

  // Of a block that its reader is through with: it goes when the next block
  // comes, whose memory it leaves, unless somebody asks for it before that.
  void Retire(const BlockKey& key);

  // Drops the blocks of an array that is gone or has changed.
  void Forget(uint64_t array);

  // Where blocks go that have to leave before their time.
  class Overflow {
   public:
    virtual ~Overflow() = default;
    // Whether the block will be needed again. Called under the lock of the
    // cache: must be quick and must not use the cache.
    virtual bool Wants(uint64_t block) = 0;
    // Gets a block that it wants; readers find it in the cache until then.
    virtual void Take(uint64_t block, const backends::Bytes& bytes) = 0;
  };
  // From now on `overflow` is asked about the blocks of `array` that are
  // evicted, and no other; until it is removed.
  void AddOverflow(uint64_t array, std::shared_ptr<Overflow> overflow);
  void RemoveOverflow(uint64_t array, const Overflow* overflow);

  // Where arrays may have one; may be null.
  SpillSpace* spill_space() const { return spill_; }

  // How many loads run at once.
  LoadPace& pace() { return pace_; }
  const LoadPace& pace() const { return pace_; }

  struct Stats {
    uint64_t budget_bytes = 0;
    uint64_t used_bytes = 0;  // blocks, pinned ones included, and loads in flight
    uint64_t blocks = 0;
    uint64_t hits = 0;
    uint64_t misses = 0;  // loads that were begun, without those of parts
    uint64_t parts = 0;   // loads of parts of chunks that were begun
    uint64_t loaded_bytes = 0;
    uint64_t evictions = 0;
    uint64_t failures = 0;  // loads that ended in an error, without those of parts
  };
  Stats stats() const;

 private:
  struct KeyHash {
    size_t operator()(const BlockKey& key) const;
  };
  struct Entry;
  using EntryPtr = std::shared_ptr<Entry>;

  // What is charged: blocks and loads, and the entries themselves where there
  // are many (absent chunks are entries without a block).
  uint64_t Charged() const REQUIRES(mutex_);
  // The entry of `key`; `is_new` when this caller has to load it.
  EntryPtr FindOrInsert(const BlockKey& key, bool& is_new) EXCLUDES(mutex_);
  model::Result<Handle> Await(const EntryPtr& entry) EXCLUDES(mutex_);
  // Runs `load` for an entry that has `reserved` bytes charged.
  model::Result<Handle> Load(const EntryPtr& entry, uint64_t reserved, const Loader& load);
  // What `load` makes, charged instead of the `reserved` bytes, which are 0 then.
  model::Result<Handle> MakeBlock(const Loader& load, uint64_t& reserved) EXCLUDES(mutex_);
  void Recharge(uint64_t from, uint64_t to) EXCLUDES(mutex_);
  // Lets go of retired blocks, of up to `bytes`.
  void DropRetired(uint64_t bytes) EXCLUDES(mutex_);
  void Reserve(uint64_t bytes) EXCLUDES(mutex_);
  void Release(uint64_t bytes) EXCLUDES(mutex_);
  // What Evict takes out. Those with an overflow can still be found.
  struct Victim {
    EntryPtr entry;
    std::shared_ptr<Overflow> overflow;
  };
  // Takes least recently used blocks out until `bytes` more would fit. The
  // caller hands them to LetGo without the mutex: that is what gives bytes
  // back.
  std::vector<Victim> Evict(uint64_t bytes) REQUIRES(mutex_);
  Victim EvictOldest() REQUIRES(mutex_);
  void LetGo(std::vector<Victim> victims) EXCLUDES(mutex_);
  std::shared_ptr<Overflow> OverflowFor(const Entry& entry) REQUIRES(mutex_);
  void Unlink(const EntryPtr& entry) REQUIRES(mutex_);

  const uint64_t budget_;
  SpillSpace* const spill_;
  LoadPace pace_;
  mutable model::Mutex mutex_;
  model::CondVar released_;  // bytes were given back
  model::CondVar loaded_;    // an entry became ready, or failed
  std::unordered_map<BlockKey, EntryPtr, KeyHash> entries_ GUARDED_BY(mutex_);
  // Ready entries: retired ones, and then the others, oldest first.
  std::list<EntryPtr> lru_ GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, std::shared_ptr<Overflow>> overflows_ GUARDED_BY(mutex_);
  Stats stats_ GUARDED_BY(mutex_);
};

}  // namespace ndlfs::cache
