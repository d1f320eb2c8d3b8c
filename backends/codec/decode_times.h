// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "model/mutex.h"

namespace ndlfs::backends {

// How much each codec has decoded, and how long that took. Thread-safe.
class DecodeTimes {
 public:
  struct Total {
    uint64_t chunks = 0;
    uint64_t bytes = 0;  // decoded
    std::chrono::nanoseconds time{0};

    double seconds() const { return std::chrono::duration<double>(time).count(); }
  };
  using Totals = std::map<std::string, Total, std::less<>>;  // by the name of the codec

  void Add(std::string_view codec, uint64_t bytes, std::chrono::nanoseconds time);
  Totals totals() const;

 private:
  mutable model::Mutex mutex_;
  Totals totals_ GUARDED_BY(mutex_);
};

// Measures codecs that decode a chunk one after the other. The first one begins when the timer
// is made.
class DecodeTimer {
 public:
  explicit DecodeTimer(DecodeTimes* times) : times_(times) {  // null: measures nothing
    if (times_ != nullptr) begin_ = Clock::now();
  }
  // `codec` has decoded `bytes` bytes; the next codec begins now.
  void NoteStep(std::string_view codec, uint64_t bytes) {
    if (times_ == nullptr) return;
    const auto now = Clock::now();
    times_->Add(codec, bytes, now - begin_);
    begin_ = now;
  }

 private:
  using Clock = std::chrono::steady_clock;

  DecodeTimes* const times_;
  Clock::time_point begin_;
};

}  // namespace ndlfs::backends
