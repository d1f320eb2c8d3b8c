// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "cache/array_reader.h"
#include "cache/chunk_spill.h"
#include "model/mutex.h"

namespace ndlfs::fs {

// Tells what a reader of parts of an array will need: all chunks with one of the indices `low`
// to `high` of the first dimension, both inclusive. The cache then keeps on disk those that it
// evicts, in `order`. The address `who` identifies the reader, which calls ForgetNeed() at its
// end.
inline void TellNeed(const cache::ArrayReader& reader, const void* who, uint64_t low,
                     uint64_t high,
                     std::shared_ptr<const cache::ChunkSpill::Order> order = nullptr) {
  cache::ChunkSpill* const spill = reader.spill();
  if (spill == nullptr || reader.element_count() == 0) return;
  const backends::ChunkGrid& grid = reader.spec().grid;
  const uint64_t step = grid.rank() == 0 ? 0 : reader.byte_size() / grid.array_shape()[0];
  uint64_t inner = 1;
  for (size_t d = 1; d < grid.rank(); ++d) inner *= grid.counts()[d];
  spill->SetReader(who, low * step, grid.rank() == 0 ? 1 : (grid.ChunkOf(0, high) + 1) * inner,
                   std::move(order));
}

inline void ForgetNeed(const cache::ArrayReader& reader, const void* who) {
  if (cache::ChunkSpill* const spill = reader.spill()) spill->RemoveReader(who);
}

// Keeps all chunks of an array that were decoded, as long as it exists: for files that are
// opened one after the other, and of which each needs all chunks. Thread-safe.
class ChunkKeeper {
 public:
  ChunkKeeper() = default;
  ~ChunkKeeper() {
    const model::MutexLock lock(mutex_);
    if (reader_ != nullptr) ForgetNeed(*reader_, this);
  }
  ChunkKeeper(const ChunkKeeper&) = delete;
  ChunkKeeper& operator=(const ChunkKeeper&) = delete;

  // Begins to keep those of `reader`; the first call counts.
  void Keep(std::shared_ptr<const cache::ArrayReader> reader) EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    if (reader_ != nullptr || reader == nullptr) return;
    reader_ = std::move(reader);
    const std::vector<uint64_t>& shape = reader_->spec().shape;
    TellNeed(*reader_, this, 0, shape.empty() ? 0 : shape[0] - 1);
  }

 private:
  model::Mutex mutex_;
  std::shared_ptr<const cache::ArrayReader> reader_ GUARDED_BY(mutex_);
};

}  // namespace ndlfs::fs
