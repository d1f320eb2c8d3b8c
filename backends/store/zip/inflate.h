// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/store/store.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::backends {

// Where a deflated value is, and what it should be.
struct DeflatedRange {
  uint64_t offset = 0;  // in the file
  uint64_t compressed_size = 0;
  uint64_t size = 0;
  uint32_t crc32 = 0;
};

// Inflates all of a value into `out`, which has its size. kCorrupt if that is
// not what the range promises.
model::Result<void> InflateAll(const Store& file, const DeflatedRange& range, ByteSpan out);

// Reads any part of a deflated value. A stream can only be read from its
// beginning, so the state of the decompressor is kept at some places on the
// way and where the last read ended: what is read in sequence is inflated once
// in all, and what is read again from the nearest place before it. Takes up to
// 3 MiB. Thread-safe: one thread at a time goes where none has been before,
// the others read what is known. The checksum is verified by who gets to the
// end.
class InflateReader {
 public:
  InflateReader(std::shared_ptr<const Store> file, const DeflatedRange& range);
  ~InflateReader();

  // Fills `out` from `offset`; both are within the value.
  model::Result<void> Read(uint64_t offset, ByteSpan out);

 private:
  class Stream;

  std::unique_ptr<Stream> StartAt(uint64_t offset) EXCLUDES(mutex_);
  bool IsKnown(uint64_t end) const EXCLUDES(mutex_);
  model::Result<void> Extend(uint64_t offset, ByteSpan out) REQUIRES(extending_);
  void Keep(std::unique_ptr<Stream> stream, bool is_milestone) EXCLUDES(mutex_);

  const std::shared_ptr<const Store> file_;
  const DeflatedRange range_;
  const uint64_t spacing_;

  // Held by who inflates what nobody has; taken before mutex_.
  model::Mutex extending_;
  mutable model::Mutex mutex_;
  // By position. All but the last are milestones, `spacing_` apart.
  std::vector<std::unique_ptr<Stream>> kept_ GUARDED_BY(mutex_);
  bool last_is_milestone_ GUARDED_BY(mutex_) = true;
};

// The reader for member `member` of the archive `owner`, one of the few that
// the process keeps.
std::shared_ptr<InflateReader> FindInflateReader(uint64_t owner, uint64_t member,
                                                 const std::shared_ptr<const Store>& file,
                                                 const DeflatedRange& range);
// Drops those of `owner`.
void DropInflateReaders(uint64_t owner);

}  // namespace ndlfs::backends
