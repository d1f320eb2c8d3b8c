// SPDX-License-Identifier: MIT
//
// A plane of an array crosses a whole band of chunks, and the next plane
// crosses the same ones. If the band is larger than the cache, its chunks are
// kept on disk until the reader has finished with them. So each chunk is
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

// Keeps on disk the chunks of one array that the cache has evicted although
// readers will need them again. Thread-safe.
class ChunkSpill final : public ChunkCache::Overflow {
 public:
  // An order of elements in which chunks lie on disk, for readers that cross all chunks of an
  // array with each piece: what they need of a chunk lies together then. Thread-safe.
  class Order {
   public:
    // Orders of the same key are equal. 0 is C order, and no object has it.
    explicit Order(size_t key) : key_(key) {}
    virtual ~Order() = default;
    size_t key() const { return key_; }
    // Calls `write` for all of the elements, in pieces. False if `write` returned it.
    using WriteAt = std::function<bool(uint64_t offset, backends::ConstByteSpan)>;
    virtual bool Write(uint64_t chunk, backends::ConstByteSpan elements,
                       const WriteAt& write) const = 0;

   private:
    const size_t key_;
  };

  // The offset of the last byte of a chunk in the element stream. Called under
  // the lock of the chunk cache: must be quick.
  using LastByte = std::function<uint64_t(uint64_t chunk)>;

  // `chunk_bytes` is the decoded size of the largest chunk. `space` must
  // outlive the object.
  ChunkSpill(SpillSpace& space, uint64_t chunk_bytes, LastByte last_byte);

  // Tells what a sequential reader will need: the chunks below `end` whose last
  // byte is at `offset` of the element stream or later. The address `reader`
  // only identifies the reader. As long as all readers are for one `order`, chunks are written
  // in it, and else in C order (null).
  void SetReader(const void* reader, uint64_t offset, uint64_t end,
                 std::shared_ptr<const Order> order = nullptr) EXCLUDES(mutex_);
  // Forgets a reader. When the last one is gone, drops all chunks.
  void RemoveReader(const void* reader) EXCLUDES(mutex_);

  bool Wants(uint64_t chunk) override EXCLUDES(mutex_);
  void Take(uint64_t chunk, const backends::Bytes& bytes) override EXCLUDES(mutex_);

  bool Contains(uint64_t chunk) const EXCLUDES(mutex_);
  // Whether there is no chunk. Takes no lock, so that every read can ask.
  bool empty() const { return count_.load(std::memory_order_relaxed) == 0; }

  // Calls `read` with a function that reads from byte `offset` of the chunk.
  // False if the chunk is not here in the order of `key`, if `read` returns
  // false, or if the chunk was dropped before `read` returned; the bytes that
  // were read are then worthless.
  using ReadAt = std::function<bool(uint64_t offset, backends::ByteSpan out)>;
  bool Read(uint64_t chunk, const std::function<bool(const ReadAt&)>& read,
            size_t key = 0) const EXCLUDES(mutex_);

 private:
  struct Need {
    uint64_t offset;
    uint64_t end;
    std::shared_ptr<const Order> order;
  };
  struct Slot {
    uint64_t number;
    uint64_t writing;  // serial number of the write: shows that a slot was used again
    size_t order;      // its key
  };

  bool IsNeeded(uint64_t chunk) const REQUIRES(mutex_);
  std::optional<uint64_t> TakeSlot() REQUIRES(mutex_);
  std::shared_ptr<const Order> CommonOrder() const REQUIRES(mutex_);
  // Frees the slots of chunks that no reader needs any more.
  void Sweep() REQUIRES(mutex_);

  SpillSpace& space_;
  const uint64_t chunk_bytes_;
  const LastByte last_byte_;

  mutable model::Mutex mutex_;  // may be taken while the chunk cache holds its own
  std::map<const void*, Need> readers_ GUARDED_BY(mutex_);
  std::shared_ptr<SpillSpace::File> file_ GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, Slot> slots_ GUARDED_BY(mutex_);  // by chunk
  std::atomic<size_t> count_{0};                                 // of slots_
  std::vector<uint64_t> free_ GUARDED_BY(mutex_);
  uint64_t slot_count_ GUARDED_BY(mutex_) = 0;
  size_t since_sweep_ GUARDED_BY(mutex_) = 0;  // chunks taken since the last Sweep()
  uint64_t writings_ GUARDED_BY(mutex_) = 0;
};

}  // namespace ndlfs::cache
