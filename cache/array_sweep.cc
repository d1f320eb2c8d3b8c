// SPDX-License-Identifier: MIT
#include "cache/array_sweep.h"

#include <algorithm>

#include "cache/chunk_cache.h"
#include "cache/chunk_spill.h"

namespace ndlfs::cache {

ArraySweep::ArraySweep(const ArrayReader& reader)
    : reader_(reader),
      decodes_(reader.spec().dtype.is_fixed_size() && reader.byte_size() != 0 &&
               reader.max_ahead_bytes() != 0),
      window_(decodes_
                  ? std::max<uint64_t>(1, reader.cache_budget() / 4 / reader.max_ahead_bytes())
                  : 0) {
  if (reader_.spill() != nullptr) reader_.spill()->SetReader(this, 0, reader_.chunk_count());
}

ArraySweep::~ArraySweep() {
  if (reader_.spill() != nullptr) reader_.spill()->RemoveReader(this);
}

void ArraySweep::Prepare(uint64_t begin, uint64_t end) {
  if (!decodes_) return;
  // The range enters chunks of its last band at most, and may enter any of them.
  const uint64_t band = reader_.band_chunks();
  const uint64_t first = reader_.ChunkAt(begin) / band * band;
  const uint64_t last = reader_.ChunkAt(end - 1) / band * band + (band - 1);
  const uint64_t target = std::min(first + window_, last + 1);
  for (uint64_t chunk = next_.load(); chunk < target;) {
    if (!next_.compare_exchange_weak(chunk, chunk + 1)) continue;
    reader_.Prefetch(chunk);
    chunk = next_.load();
  }
}

void ArraySweep::Finish(uint64_t begin, uint64_t end) {
  if (!decodes_) return;
  const model::MutexLock lock(mutex_);
  finished_.emplace(begin, end);
  while (!finished_.empty() && finished_.begin()->first <= offset_) {
    offset_ = std::max(offset_, finished_.begin()->second);
    finished_.erase(finished_.begin());
  }
  if (reader_.spill() != nullptr) {
    reader_.spill()->SetReader(this, offset_, reader_.chunk_count());
  }
  for (; passed_ < reader_.chunk_count() && reader_.LastByte(passed_) < offset_; ++passed_) {
    reader_.Retire(passed_);
  }
}

}  // namespace ndlfs::cache
