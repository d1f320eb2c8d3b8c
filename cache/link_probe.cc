// SPDX-License-Identifier: MIT
#include "cache/link_probe.h"

#include <algorithm>

namespace ndlfs::cache {
namespace {

using std::chrono::milliseconds;

constexpr LinkProbe::Clock::duration kInterval = milliseconds(200);
// Twice as many fetches that share nothing would bring twice as much.
constexpr double kGrowth = 1.5;

}  // namespace

void LinkProbe::Begin(uint64_t received, Clock::time_point now) {
  *this = {};
  begun_ = now;
  received_ = received;
}

bool LinkProbe::MayGrow(uint64_t received, Clock::time_point now) {
  if (is_shared_) return false;
  if (delay_ == Clock::duration()) {
    if (received == received_) return false;
    delay_ = std::max(now - begun_, Clock::duration(1));
    StartInterval(received, now);
    return false;
  }
  if (now < from_) {  // those that have just begun do not bring anything yet
    received_ = received;
    return false;
  }
  if (now - from_ < kInterval) return false;
  const double rate = static_cast<double>(received - received_) /
                      std::chrono::duration<double>(now - from_).count();
  is_shared_ = rate < kGrowth * rate_ || rate == 0;
  if (is_shared_) return false;
  rate_ = rate;
  StartInterval(received, now + 2 * delay_);
  return true;
}

void LinkProbe::StartInterval(uint64_t received, Clock::time_point now) {
  received_ = received;
  from_ = now;
}

}  // namespace ndlfs::cache
