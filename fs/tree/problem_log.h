// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "backends/store/caller.h"
#include "model/mutex.h"

namespace ndlfs::fs {

// The problems of the source, one line for each: a corrupt chunk that a thousand reads touch is
// reported once, and again after an hour if reads still meet it. Lines go to the log, at most a
// hundred a minute, and are kept (`.ndlfs/errors.log`) until there are too many; then the older
// half is dropped.
//
// A line may name and quote files. A caller (backends/store/caller.h) gets the lines of
// problems that its own requests have met, and so nothing that it may not read; the user who
// mounts gets all lines. Thread-safe.
class ProblemLog {
 public:
  using Clock = std::function<std::chrono::system_clock::time_point()>;
  using Sink = std::function<void(std::string_view line)>;

  // `sink` gets the lines for the log, on the thread that calls Report(); it
  // may be empty.
  explicit ProblemLog(Sink sink, Clock clock = &std::chrono::system_clock::now);

  // Reports a problem that the current caller has met. `text` names the store, the object and
  // the reason. Equal texts are the same problem.
  void Report(std::string_view text);

  // The latest distinct problems that the current caller may know of, oldest first, one per
  // line with its time. Lines are only added at the end, except when the older half is dropped.
  std::string Text() const;
  // How often Report() was called.
  uint64_t reported() const;

 private:
  using Time = std::chrono::system_clock::time_point;

  struct Entry {
    std::string text;
    backends::CallerPtr caller;  // null: the user who mounts
    bool is_first;               // nobody else had met it
  };

  bool IsNews(size_t identity, Time now) REQUIRES(mutex_);
  // Appends to `out` the lines that the sink gets.
  void Throttle(std::string_view line, Time now, std::deque<std::string>& out) REQUIRES(mutex_);

  const Sink sink_;
  const Clock clock_;
  mutable model::Mutex mutex_;
  std::deque<Entry> kept_ GUARDED_BY(mutex_);
  // When a problem was reported, by a hash of its line, and of line and caller.
  std::unordered_map<size_t, Time> told_ GUARDED_BY(mutex_);
  Time window_ GUARDED_BY(mutex_);  // begin of this minute
  uint64_t in_window_ GUARDED_BY(mutex_) = 0;
  uint64_t held_back_ GUARDED_BY(mutex_) = 0;
  uint64_t reported_ GUARDED_BY(mutex_) = 0;
};

}  // namespace ndlfs::fs
