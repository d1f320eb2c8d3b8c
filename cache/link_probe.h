// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace ndlfs::cache {

// Tells how many fetches should be under way while a reader waits for its first chunk. If each
// connection has a rate of its own, more fetches bring more bytes. If all of them share one
// link, more fetches only delay the first chunk. So the probe begins with few fetches, and then
// adds half as many again. It measures how fast bytes come from all fetches, and goes on while
// they come faster than before. For one thread at a time.
class LinkProbe {
 public:
  using Clock = std::chrono::steady_clock;

  // How many fetches begin at once, including that of the reader.
  static constexpr size_t kAtFirst = 11;

  // The first fetches begin now. `received` is how many bytes have come so far, through all
  // connections.
  void Begin(uint64_t received, Clock::time_point now);

  // How many more fetches should begin now. Ask several times in each interval of 200
  // milliseconds, until is_done().
  size_t More(uint64_t received, Clock::time_point now);

  // True if no more fetches will help, or nothing can be found out.
  bool is_done() const { return is_done_; }

 private:
  // Starts the next interval to be measured: now or, if that is later, at about `from`. Fetches
  // that have just begun do not bring much yet.
  void StartInterval(uint64_t received, Clock::time_point now, Clock::time_point from);

  size_t fetches_ = 0;  // begun so far
  Clock::time_point begun_;
  Clock::duration delay_{};  // until the first bytes came; 0: none yet
  uint64_t received_ = 0;    // when the interval began
  Clock::time_point measured_from_;
  Clock::time_point from_;  // the interval does not begin before this
  double rate_ = 0;         // bytes a second before more fetches began
  int failures_ = 0;        // intervals in a row that were not better than that
  bool is_done_ = false;
};

}  // namespace ndlfs::cache
