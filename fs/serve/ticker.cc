// SPDX-License-Identifier: MIT
#include "fs/serve/ticker.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace ndlfs::fs {
namespace {

using model::MutexLock;
using std::chrono::nanoseconds;

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

int64_t Nanoseconds(Ticker::Clock::time_point time) {
  return std::chrono::duration_cast<nanoseconds>(time.time_since_epoch()).count();
}

}  // namespace

Ticker::~Ticker() {
  {
    const MutexLock lock(mutex_);
    ended_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

void Ticker::Wake(Clock::duration within) {
  const int64_t time = Nanoseconds(Clock::now() + within);
  if (wakes_at_.load() <= time) return;
  {
    const MutexLock lock(mutex_);
    if (wakes_at_.load() <= time) return;
    wakes_at_ = time;
  }
  changed_.NotifyAll();
}

void Ticker::Run() {
  for (;;) {
    // A Wake() from here on counts: whatever it is about may have come too late for this call.
    wakes_at_ = kNever;
    const auto again = tick_(Clock::now());
    const MutexLock lock(mutex_);
    if (again) {
      const int64_t time = Nanoseconds(Clock::now() + *again);
      wakes_at_ = std::min(wakes_at_.load(), time);
    }
    for (;;) {
      if (ended_) return;
      const int64_t left = wakes_at_ == kNever ? kNever : wakes_at_ - Nanoseconds(Clock::now());
      if (left <= 0) break;
      if (left == kNever) {
        changed_.Wait(mutex_);
      } else {
        changed_.WaitFor(mutex_, nanoseconds(left));
      }
    }
  }
}

}  // namespace ndlfs::fs
