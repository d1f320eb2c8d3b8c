// SPDX-License-Identifier: MIT
//
// A plane of an array crosses a whole band of chunks, and the next plane
// crosses the same ones. Where the band is larger than the cache, its chunks
// are kept on disk until the reader is through with them, so that each is
// decoded once.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "backends/base/bytes.h"
#include "cache/chunk_cache.h"
#include "cache/spill_space.h"
#include "model/mutex.h"

namespace ndlfs::cache {

// The chunks of one array that went from memory before their time.
// Thread-safe.
class ChunkSpill final : public ChunkCache::Overflow {
 public:
  // Where in the element stream the last byte of a chunk is. Called under the
  // lock of the chunk cache: must be quick.
  using LastByte = std::function<uint64_t(uint64_t chunk)>;

  // `chunk_bytes`: of the largest chunk. `space` must outlive it.
  ChunkSpill(SpillSpace& space, uint64_t chunk_bytes, LastByte last_byte);

  // What a reader that goes forward, known by its address, is going to need:
  // the chunks below `end` that reach to byte `offset` or beyond.
  void SetReader(const void* reader, uint64_t offset, uint64_t end) EXCLUDES(mutex_);
  // With the last reader all that is here goes.
  void RemoveReader(const void* reader) EXCLUDES(mutex_);

  bool Wants(uint64_t chunk) override EXCLUDES(mutex_);
  void Take(uint64_t chunk, const backends::Bytes& bytes) override EXCLUDES(mutex_);

  bool Contains(uint64_t chunk) const EXCLUDES(mutex_);
  // Takes no lock: for who asks at every read.
  bool empty() const { return count_.load(std::memory_order_relaxed) == 0; }

  // Calls `read` with a function that reads from byte `offset` of the chunk.
  // False where the chunk is not here, or is no longer when `read` is done:
  // what it has read then is worth nothing.
  using ReadAt = std::function<bool(uint64_t offset, backends::ByteSpan out)>;
  bool Read(uint64_t chunk, const std::function<bool(const ReadAt&)>& read) const
      EXCLUDES(mutex_);

 private:
  struct Need {
    uint64_t offset;
    uint64_t end;
  };
  struct Slot {
    uint64_t number;
    uint64_t writing;  // which of all that were ever written: tells them apart
  };

  bool IsNeeded(uint64_t chunk) const REQUIRES(mutex_);
  std::optional<uint64_t> TakeSlot() REQUIRES(mutex_);
  // Frees the slots of chunks that nobody needs any more.
  void Sweep() REQUIRES(mutex_);

  SpillSpace& space_;
  const uint64_t chunk_bytes_;
  const LastByte last_byte_;

  mutable model::Mutex mutex_;  // may be taken under that of the chunk cache
  std::map<const void*, Need> readers_ GUARDED_BY(mutex_);
  std::shared_ptr<SpillSpace::File> file_ GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, Slot> slots_ GUARDED_BY(mutex_);  // by chunk
  std::atomic<size_t> count_{0};                                 // of slots_
  std::vector<uint64_t> free_ GUARDED_BY(mutex_);
  uint64_t slot_count_ GUARDED_BY(mutex_) = 0;
  size_t since_sweep_ GUARDED_BY(mutex_) = 0;  // chunks taken
  uint64_t writings_ GUARDED_BY(mutex_) = 0;
};

}  // namespace ndlfs::cache
