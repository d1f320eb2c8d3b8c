// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>

namespace ndlfs::cache {

// Tells whether more fetches at once bring more bytes, or only share what the link has. It is
// asked again and again while fetches are under way. For one thread at a time.
class LinkProbe {
 public:
  using Clock = std::chrono::steady_clock;

  // Some fetches have begun, at the first of which `received` bytes had come through the link.
  void Begin(uint64_t received, Clock::time_point now);

  // True if more fetches should begin: the caller begins as many as there are. The first time,
  // as soon as bytes come; then, if they come faster than before. Once they do not, never
  // again.
  bool MayGrow(uint64_t received, Clock::time_point now);

 private:
  // Bytes and time of the interval that is measured.
  void StartInterval(uint64_t received, Clock::time_point now);

  Clock::time_point begun_;
  Clock::duration delay_{};  // until the first bytes came; 0: none yet
  uint64_t received_ = 0;
  Clock::time_point from_;  // where the interval begins; may be ahead
  double rate_ = 0;         // bytes a second, before the last growth
  bool is_shared_ = false;
};

}  // namespace ndlfs::cache
