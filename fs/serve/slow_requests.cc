// SPDX-License-Identifier: MIT
#include "fs/serve/slow_requests.h"

#include <algorithm>
#include <utility>

namespace ndlfs::fs {
namespace {

bool IsSlower(const SlowRequest& a, const SlowRequest& b) { return a.time > b.time; }

}  // namespace

void SlowRequests::Note(SlowRequest request) {
  const model::MutexLock lock(mutex_);
  auto& [current, before] = windows_;
  const Clock::time_point now = request.answered;
  const Clock::time_point end{Clock::duration(window_end_.load(std::memory_order_relaxed))};
  if (now >= end) {
    before = now - end < kWindow ? std::exchange(current, {}) : std::vector<SlowRequest>();
    current.clear();
    window_end_.store((now + kWindow).time_since_epoch().count(), std::memory_order_relaxed);
  }
  const auto place = std::upper_bound(current.begin(), current.end(), request, &IsSlower);
  current.insert(place, std::move(request));
  if (current.size() > kKept) current.pop_back();
  const bool is_full = current.size() == kKept;
  least_.store(is_full ? current.back().time.count() : 0, std::memory_order_relaxed);
}

std::vector<SlowRequest> SlowRequests::Find(Clock::time_point now) const {
  const auto& caller = backends::CallerScope::Current();
  const bool sees_all = !caller || caller->is_self;
  std::vector<SlowRequest> found;
  const model::MutexLock lock(mutex_);
  for (const auto& window : windows_) {
    for (const SlowRequest& request : window) {
      const bool is_recent = now - request.answered < 2 * kWindow;
      if (is_recent && (sees_all || request.caller == caller)) found.push_back(request);
    }
  }
  std::stable_sort(found.begin(), found.end(), &IsSlower);
  return found;
}

}  // namespace ndlfs::fs
