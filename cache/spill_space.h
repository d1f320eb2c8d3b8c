// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "backends/base/bytes.h"

namespace ndlfs::cache {

// Room on disk for decoded chunks that memory has no room for: files without a
// name, in one directory and below one limit. One for a mount. Thread-safe.
// Nothing that goes wrong here is an error: what is not written is decoded
// again.
class SpillSpace {
 public:
  // Gets a line whenever the directory, and not the limit, is the reason that a
  // chunk is not written. Called by any thread.
  using Report = std::function<void(std::string_view line)>;

  // Nothing is ever written where `limit_bytes` is 0. The directory is the one
  // that is there now: a mount over it later is no trap.
  SpillSpace(const std::string& directory, uint64_t limit_bytes, Report report = {});
  // All files must be gone by then.
  ~SpillSpace();
  SpillSpace(const SpillSpace&) = delete;
  SpillSpace& operator=(const SpillSpace&) = delete;

  // A file of slots of one size, gone with its object. Thread-safe.
  class File {
   public:
    File(SpillSpace& space, int fd, uint64_t slot_bytes);
    ~File();
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    // Makes it one slot longer; false where there is no room for that.
    bool Grow();
    bool Write(uint64_t slot, backends::ConstByteSpan bytes);
    bool Read(uint64_t slot, uint64_t offset, backends::ByteSpan out) const;

   private:
    SpillSpace& space_;
    const int fd_;
    const uint64_t slot_bytes_;
    std::atomic<uint64_t> slots_{0};
  };
  // Null where there can be none.
  std::shared_ptr<File> Open(uint64_t slot_bytes);

  struct Stats {
    uint64_t used_bytes = 0;
    uint64_t written = 0;  // chunks
    uint64_t reads = 0;    // of parts of chunks
    uint64_t refused = 0;  // chunks that there was no room for
  };
  Stats stats() const;
  // For who has been refused; without a lock, as it may write to the log.
  void CountRefused();

 private:
  // Whether `bytes` more, on the file system of `fd`, leave as much to others
  // as is taken here.
  bool Reserve(int fd, uint64_t bytes);

  // Notes `error`, an errno, for CountRefused(). Yields false.
  bool Refuse(int error);

  const std::string path_;
  const Report report_;
  const int directory_;  // -1: none
  const uint64_t limit_;
  std::atomic<uint64_t> used_{0};
  std::atomic<uint64_t> written_{0};
  mutable std::atomic<uint64_t> reads_{0};
  std::atomic<uint64_t> refused_{0};
  std::atomic<int> error_{0};  // of the directory, that has not been reported
};

}  // namespace ndlfs::cache
