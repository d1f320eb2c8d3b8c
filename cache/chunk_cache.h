// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "backends/array_source.h"
#include "backends/bytes.h"
#include "cache/thread_annotations.h"
#include "model/error.h"

namespace ndlfs::cache {

// What a cached block is known by: an array (ArraySource::id()) and the linear
// index of one of its chunks. Indexes of shards have `is_index`.
struct BlockKey {
  uint64_t array = 0;
  uint64_t block = 0;
  bool is_index = false;
  bool operator==(const BlockKey&) const = default;
};

// Decoded chunks, charged by bytes against one budget for the whole mount.
// What is being decoded is charged before it is allocated, together with the
// buffers that takes; who finds the budget taken waits, unless nothing else
// is in flight, so that a chunk larger than the budget still gets through.
// Concurrent misses on one block load it once. Thread-safe; no lock is held
// while a block is loaded.
class ChunkCache final : public backends::IndexCache {
 public:
  explicit ChunkCache(uint64_t budget_bytes);
  ~ChunkCache() override;

  // A loaded block stays in memory as long as one of these lives. Hold one
  // only while copying: a thread that holds one must not ask for another.
  using Handle = std::shared_ptr<const backends::Bytes>;

  // Makes a block. Its result must be of the promised size or smaller.
  using Loader = std::function<model::Result<backends::Bytes>()>;

  // The block, loaded if need be. `block_bytes` is what it will occupy and
  // `transient_bytes` what loading takes besides. A failed load is not kept:
  // everyone who waited gets the error, the next one tries again.
  model::Result<Handle> GetOrLoad(const BlockKey& key, uint64_t block_bytes,
                                  uint64_t transient_bytes, const Loader& load);
  // The block if it is there.
  Handle Peek(const BlockKey& key);

  // IndexCache.
  model::Result<Handle> GetOrLoad(
      uint64_t id, uint64_t slot,
      const std::function<model::Result<backends::Bytes>()>& load) override;

  // Drops the blocks of an array that is gone or has changed.
  void Forget(uint64_t array);

  struct Stats {
    uint64_t budget_bytes, used_bytes, blocks, hits, misses, evictions, failures;
  };
  Stats stats() const;

 private:
  struct KeyHash {
    size_t operator()(const BlockKey& key) const;
  };
  struct Entry;
  using EntryPtr = std::shared_ptr<Entry>;

  model::Result<Handle> Load(const EntryPtr& entry, uint64_t block_bytes,
                             uint64_t transient_bytes, const Loader& load);
  void Reserve(uint64_t bytes) EXCLUDES(mutex_);
  void Release(uint64_t bytes) EXCLUDES(mutex_);
  void EvictUntilFits(uint64_t bytes) REQUIRES(mutex_);
  void Erase(const EntryPtr& entry) REQUIRES(mutex_);

  const uint64_t budget_;
  mutable std::mutex mutex_;
  std::condition_variable freed_;   // budget was given back
  std::condition_variable loaded_;  // some entry became ready or failed
  std::unordered_map<BlockKey, EntryPtr, KeyHash> entries_ GUARDED_BY(mutex_);
  std::list<EntryPtr> lru_ GUARDED_BY(mutex_);  // ready entries, oldest first
  uint64_t used_ GUARDED_BY(mutex_) = 0;
  uint64_t in_flight_ GUARDED_BY(mutex_) = 0;  // loads that hold a reservation
  uint64_t hits_ GUARDED_BY(mutex_) = 0;
  uint64_t misses_ GUARDED_BY(mutex_) = 0;
  uint64_t evictions_ GUARDED_BY(mutex_) = 0;
  uint64_t failures_ GUARDED_BY(mutex_) = 0;
};

}  // namespace ndlfs::cache
