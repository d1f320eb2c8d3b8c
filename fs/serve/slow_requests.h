// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "backends/store/caller.h"
#include "fs/serve/request_times.h"
#include "model/mutex.h"

namespace ndlfs::fs {

struct SlowRequest {
  const char* kind = "";
  std::string path;  // in the mount
  RequestTimes::Clock::duration time{};
  RequestTimes::Clock::time_point answered;
  backends::CallerPtr caller;  // null: only the user who mounts may know of it
};

// The slowest requests of the last five to ten minutes. Thread-safe.
//
// A path may be secret. A caller (backends/store/caller.h) gets only its own requests; the user
// who mounts gets all.
class SlowRequests {
 public:
  using Clock = RequestTimes::Clock;
  static constexpr size_t kKept = 16;  // of each window
  static constexpr std::chrono::minutes kWindow{5};
  // Quicker requests are of no interest.
  static constexpr std::chrono::milliseconds kLeast{10};

  // Whether Note() would keep a request that was answered at `now` after `time`. Almost never
  // true, and costs next to nothing.
  bool IsSlow(Clock::duration time, Clock::time_point now) const {
    constexpr auto kRelaxed = std::memory_order_relaxed;
    if (time < kLeast) return false;
    return time.count() > least_.load(kRelaxed) ||
           now.time_since_epoch().count() >= window_end_.load(kRelaxed);
  }
  void Note(SlowRequest request) EXCLUDES(mutex_);

  // The requests that the current caller may know of, the slowest first.
  std::vector<SlowRequest> Find(Clock::time_point now) const EXCLUDES(mutex_);

 private:
  mutable model::Mutex mutex_;
  // This window and the one before.
  std::array<std::vector<SlowRequest>, 2> windows_ GUARDED_BY(mutex_);
  // Written under the mutex: the time of the quickest request in a full window, or 0; and the
  // end of this window.
  std::atomic<Clock::rep> least_{0};
  std::atomic<Clock::rep> window_end_{0};
};

}  // namespace ndlfs::fs
