// SPDX-License-Identifier: MIT
#include "cache/link_probe.h"

#include <algorithm>

namespace ndlfs::cache {
namespace {

constexpr LinkProbe::Clock::duration kInterval = std::chrono::milliseconds(200);

// Half as many fetches again bring half as much again, or nothing more. This is between both.
constexpr double kGrowth = 1.25;

// A reader may go away, and bytes may come from elsewhere than a link.
constexpr LinkProbe::Clock::duration kLongest = std::chrono::seconds(30);

}  // namespace

void LinkProbe::Begin(uint64_t received, Clock::time_point now) {
  *this = {};
  fetches_ = kAtFirst;
  begun_ = now;
  received_ = received;
}

size_t LinkProbe::More(uint64_t received, Clock::time_point now) {
  is_done_ = is_done_ || now - begun_ > kLongest;
  if (is_done_) return 0;
  if (delay_ == Clock::duration()) {
    if (received == received_) return 0;
    delay_ = std::max(now - begun_, Clock::duration(1));
    StartInterval(received, now + delay_);
    return 0;
  }
  if (now < from_) {  // those that have just begun do not bring much yet
    received_ = received;
    return 0;
  }
  if (now - from_ < kInterval) return 0;
  const double rate = static_cast<double>(received - received_) /
                      std::chrono::duration<double>(now - from_).count();
  is_done_ = rate < kGrowth * rate_ || rate == 0;
  if (is_done_) return 0;
  rate_ = rate;
  StartInterval(received, now + 2 * delay_);
  const size_t more = fetches_ / 2;
  fetches_ += more;
  return more;
}

void LinkProbe::StartInterval(uint64_t received, Clock::time_point from) {
  received_ = received;
  from_ = from;
}

}  // namespace ndlfs::cache
