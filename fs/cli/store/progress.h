// SPDX-License-Identifier: MIT
//
// The line of progress of commands that read whole stores, and Ctrl-C.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>
#include <string_view>

#include "fs/cli/store/part_queue.h"

namespace ndlfs::fs {

// The exit status after Ctrl-C: that of shells for SIGINT.
inline constexpr int kInterruptedStatus = 128 + SIGINT;

// "0:07", "1:02:03".
std::string FormatDuration(double seconds);

// "45%, 12 arrays, 391 MiB/s, 1 damaged, 0:34 left": without line break. `counts` is what was
// counted so far, `bytes` were read in `seconds`; `problems` may be empty.
std::string FormatProgress(const PartQueue::Progress& work, std::string_view counts,
                           uint64_t bytes, double seconds, std::string_view problems = {});

// Shows progress on standard error: on a terminal as one line that is overwritten, elsewhere as
// a line from time to time. For one thread at a time. Ignores errors: a closed terminal is no
// reason to stop.
class ProgressDisplay {
 public:
  explicit ProgressDisplay(std::string_view command);

  // Since it was made.
  double Seconds() const;
  // Whether it is time for another line.
  bool IsDue() const { return terminal_ || Seconds() >= next_line_; }
  void Show(const std::string& line);
  // Removes the line, before something else is written.
  void Erase();
  // Writes "ndlfs: TEXT" instead.
  void Tell(std::string_view text);

 private:
  const std::string_view command_;
  const bool terminal_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  double next_line_;
  bool shown_ = false;  // a line is on the terminal
};

// While it lives, the first SIGINT or SIGTERM stops `queue`, and a second one ends the process
// as usual. There is one at a time.
class StopOnSignal {
 public:
  explicit StopOnSignal(PartQueue& queue);
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;
};

}  // namespace ndlfs::fs
