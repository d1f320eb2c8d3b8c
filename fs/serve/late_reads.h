// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "model/mutex.h"

namespace ndlfs::fs {

// The reads of an open file that had no answer in time. The kernel may ask for several pages
// ahead of a program. If it gets an error, it asks once more for the page that the program
// waits for. The program has waited long enough by then: the second request gets the same
// error. Thread-safe.
class LateReads {
 public:
  using Clock = std::chrono::steady_clock;

  // Call it before the kernel gets the error.
  void Note(uint64_t offset, uint64_t size, Clock::time_point now) EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    DropOld(now);
    if (late_.size() < kMost) late_.push_back({offset, size, now});
    has_some_ = true;
  }

  // Whether this read follows one that was late just now, and is part of it. Answers true once
  // for each late read: when a program tries again, that is a read like others.
  bool Take(uint64_t offset, uint64_t size, Clock::time_point now) EXCLUDES(mutex_) {
    if (!has_some_) return false;
    const model::MutexLock lock(mutex_);
    DropOld(now);
    const auto removed = std::erase_if(late_, [&](const Late& late) {
      return late.offset <= offset && offset - late.offset <= late.size &&
             size <= late.size - (offset - late.offset);
    });
    has_some_ = !late_.empty();
    return removed != 0;
  }

 private:
  struct Late {
    uint64_t offset;
    uint64_t size;
    Clock::time_point when;
  };
  static constexpr size_t kMost = 64;
  static constexpr Clock::duration kJustNow = std::chrono::seconds(1);

  void DropOld(Clock::time_point now) REQUIRES(mutex_) {
    std::erase_if(late_, [&](const Late& late) { return now - late.when > kJustNow; });
  }

  std::atomic<bool> has_some_{false};  // read without the lock
  model::Mutex mutex_;
  std::vector<Late> late_ GUARDED_BY(mutex_);
};

}  // namespace ndlfs::fs
