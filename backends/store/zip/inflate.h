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

// Where a deflated value is in a file, and the size and the checksum that it
// should have.
struct DeflatedRange {
  enum class Wrapper : uint8_t {
    kNone,        // a member of a ZIP archive
    kGzipOrZlib,  // has its own checksum. gzip may have several members, one after the other
  };
  uint64_t offset = 0;  // in the file
  uint64_t compressed_size = 0;
  // The inflated size. With a wrapper, there may be more bytes behind it; these, and the
  // checksum behind them, are not read.
  uint64_t size = 0;
  uint32_t crc32 = 0;  // without a wrapper
  Wrapper wrapper = Wrapper::kNone;
};

// Deflate makes at most 258 bytes out of 2 bits.
inline constexpr uint64_t kMaxDeflateRatio = 1032;

// The CRC-32 of a ZIP archive: that of `bytes` behind others whose checksum is `crc`; 0 for
// none.
uint32_t ZipCrc(uint32_t crc, ConstByteSpan bytes);
// kCorrupt if they differ.
model::Result<void> CheckCrc(uint32_t stored, uint32_t found);

// Inflates a whole value without a wrapper into `out`, which must have the size of the value.
// kCorrupt if the size or the checksum is wrong.
model::Result<void> InflateAll(const Store& file, const DeflatedRange& range, ByteSpan out);

// Reads any part of a deflated value. A deflated stream can only be inflated from its
// beginning. So the reader keeps the state of the decompressor at some places on the way, and
// where the last read ended. Reading a value in sequence inflates it once; a read of an earlier
// part begins at the nearest kept place before it. Takes up to 3 MiB. Thread-safe: one thread
// at a time inflates new data, while others read parts that were inflated before. The read that
// reaches the end verifies the checksum.
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

  // The lock of the one reader that inflates new data; taken before mutex_.
  model::Mutex extending_;
  mutable model::Mutex mutex_;
  // States of the decompressor, sorted by position. They are milestones, `spacing_` bytes
  // apart, except perhaps the last one.
  std::vector<std::unique_ptr<Stream>> kept_ GUARDED_BY(mutex_);
  bool last_is_milestone_ GUARDED_BY(mutex_) = true;
};

// The reader for member `member` of the archive `owner`. The process keeps the
// few readers that were used last.
std::shared_ptr<InflateReader> FindInflateReader(uint64_t owner, uint64_t member,
                                                 const std::shared_ptr<const Store>& file,
                                                 const DeflatedRange& range);
// Drops the readers of `owner`.
void DropInflateReaders(uint64_t owner);

}  // namespace ndlfs::backends
