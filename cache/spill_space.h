// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "backends/base/bytes.h"
#include "model/error.h"

namespace ndlfs::cache {

// Disk space for decoded chunks that do not fit in memory: files without a
// name, in one directory, with one limit for all. A mount has one SpillSpace.
// Thread-safe. No failure here is an error: a chunk that could not be written
// is decoded again.
class SpillSpace {
 public:
  // Called with a line of text when a chunk could not be written because of the
  // directory, and not because of the limit. Called on any thread.
  using Report = std::function<void(std::string_view line)>;

  // If `limit_bytes` is 0, nothing is ever written. Opens the directory now, so
  // that a file system that is mounted over it later does not matter.
  SpillSpace(const std::string& directory, uint64_t limit_bytes, Report report = {});
  // All files must be destroyed before.
  ~SpillSpace();
  SpillSpace(const SpillSpace&) = delete;
  SpillSpace& operator=(const SpillSpace&) = delete;

  // A file of slots of equal size. It exists as long as this object does.
  // Thread-safe.
  class File {
   public:
    File(SpillSpace& space, int fd, uint64_t slot_bytes);
    ~File();
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    // Makes the file one slot longer. False if there is no room for that.
    bool Grow();
    bool Write(uint64_t slot, uint64_t offset, backends::ConstByteSpan bytes);
    bool Read(uint64_t slot, uint64_t offset, backends::ByteSpan out) const;

   private:
    SpillSpace& space_;
    const int fd_;
    const uint64_t slot_bytes_;
    std::atomic<uint64_t> slots_{0};
  };
  // A new file with slots of `slot_bytes` bytes; null if there can be none.
  std::shared_ptr<File> Open(uint64_t slot_bytes);

  struct Stats {
    uint64_t used_bytes = 0;
    uint64_t written = 0;  // chunks
    uint64_t reads = 0;    // of parts of chunks
    uint64_t refused = 0;  // chunks that could not be written
  };
  Stats stats() const;
  // Counts a chunk, all of which was written.
  void CountWritten() { ++written_; }
  // Counts a chunk that could not be written, and reports the reason if it is
  // the directory. Call it without a lock, because it may write to the log.
  void CountRefused();

 private:
  // Adds `bytes` to the used bytes. False, and adds nothing, if they would
  // exceed the limit, or the free space on the file system of `fd`: other
  // programs shall keep at least as much as is used here.
  bool Reserve(int fd, uint64_t bytes);

  // Keeps `error`, an errno, for the next CountRefused(). Returns false.
  bool Refuse(int error);

  const std::string path_;
  const Report report_;
  const int directory_;  // -1: none
  const uint64_t limit_;
  // Leaves the other descriptors of the process to open files.
  static constexpr int kMostFiles = 128;
  std::atomic<int> files_{0};
  std::atomic<uint64_t> used_{0};
  std::atomic<uint64_t> written_{0};
  mutable std::atomic<uint64_t> reads_{0};
  std::atomic<uint64_t> refused_{0};
  std::atomic<int> error_{0};  // errno of the directory that was not reported yet
};

// Bytes that are written once, from the beginning to the end, and then read. Few of them are in
// memory, more in a file of a SpillSpace. Reading is thread-safe.
class SpilledBytes {
 public:
  // `space` may be null; it must outlive the bytes.
  explicit SpilledBytes(SpillSpace* space) : space_(space) {}

  // ENOMEM if there is no room in a file, and too much for memory.
  model::Result<void> Append(std::string_view bytes);
  // Call it when all have been appended.
  void Finish() { tail_.shrink_to_fit(); }

  uint64_t size() const { return spilled_ + tail_.size(); }
  // A file counts, too.
  uint64_t held_bytes() const { return tail_.capacity() + (file_ == nullptr ? 0 : kSlot); }
  // Fills `out` from byte `offset` on; the number of bytes is less only at the end.
  model::Result<size_t> Read(uint64_t offset, backends::ByteSpan out) const;

 private:
  static constexpr uint64_t kSlot = uint64_t{1} << 20;
  static constexpr uint64_t kMostInMemory = uint64_t{16} << 20;

  SpillSpace* const space_;
  std::shared_ptr<SpillSpace::File> file_;
  uint64_t spilled_ = 0;  // bytes in the file, a multiple of kSlot
  std::string tail_;      // the bytes behind them
};

}  // namespace ndlfs::cache
