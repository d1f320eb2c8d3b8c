// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <utility>

#include "backends/store/answer_age.h"

namespace ndlfs::fs {

// Decides how long ndlfs trusts a look at the source before it looks again.
// Thread-safe.
class Freshness {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;
  using Clock = std::function<Time()>;

  // Without an interval, the source counts as immutable.
  explicit Freshness(std::optional<Duration> interval,
                     Clock clock = &std::chrono::steady_clock::now)
      : interval_(interval), clock_(std::move(clock)) {}

  Time Now() const { return clock_(); }
  bool immutable() const { return !interval_; }
  // Whether a look at the time `seen` can still be trusted.
  bool Holds(Time seen) const { return !interval_ || clock_() - seen < *interval_; }

  // The same for whoever uses what was found then: if it holds, whatever is made of it is as
  // old (backends::AnswerAge).
  bool MayUse(Time seen) const {
    if (!Holds(seen)) return false;
    NoteUse(seen);
    return true;
  }
  void NoteUse(Time seen) const {
    if (!immutable()) backends::AnswerAge::Note(seen);
  }

  // The same for a failure of the system, which may be over although the source has not
  // changed. Without an interval, a failure is trusted for a second.
  bool HoldsFailure(Time seen) const {
    return clock_() - seen < interval_.value_or(std::chrono::seconds(1));
  }

  // How long a look is trusted; a day if the source is immutable.
  std::chrono::nanoseconds interval() const {
    return interval_.value_or(std::chrono::hours(24));
  }

  // The interval in seconds, for the kernel; a day if there is none.
  double TimeoutSeconds() const {
    constexpr double kDay = 24 * 60 * 60;
    return interval_ ? std::chrono::duration<double>(*interval_).count() : kDay;
  }

 private:
  const std::optional<Duration> interval_;
  const Clock clock_;
};

}  // namespace ndlfs::fs
