// SPDX-License-Identifier: MIT
#include "cache/link_probe.h"

#include <algorithm>

namespace ndlfs::cache {
namespace {

// Long enough that it does not matter where in a burst of bytes it begins.
constexpr LinkProbe::Clock::duration kInterval = std::chrono::milliseconds(200);

// Half as many fetches again bring half as much again, or nothing more. This is between both.
constexpr double kGrowth = 1.25;

// How often in a row fetches bring no more until that is believed: an interval may be unlucky,
// and connections have to be made first.
constexpr int kTries = 5;

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
    StartInterval(received, now, now + delay_);
    return 0;
  }
  if (now < from_) StartInterval(received, now, from_);
  if (now - measured_from_ < kInterval) return 0;
  const double rate = static_cast<double>(received - received_) /
                      std::chrono::duration<double>(now - measured_from_).count();
  if (rate < kGrowth * rate_ || rate == 0) {
    is_done_ = ++failures_ == kTries;
    StartInterval(received, now, now);
    return 0;
  }
  failures_ = 0;
  rate_ = rate;
  StartInterval(received, now, now + 2 * delay_);
  const size_t more = fetches_ / 2;
  fetches_ += more;
  return more;
}

void LinkProbe::StartInterval(uint64_t received, Clock::time_point now,
                              Clock::time_point from) {
  received_ = received;
  measured_from_ = now;
  from_ = from;
}

}  // namespace ndlfs::cache
