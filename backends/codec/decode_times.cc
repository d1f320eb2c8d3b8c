// SPDX-License-Identifier: MIT
#include "backends/codec/decode_times.h"

namespace ndlfs::backends {

void DecodeTimes::Add(std::string_view codec, uint64_t bytes, std::chrono::nanoseconds time) {
  const model::MutexLock lock(mutex_);
  auto found = totals_.find(codec);
  if (found == totals_.end()) found = totals_.emplace(codec, Total()).first;
  ++found->second.chunks;
  found->second.bytes += bytes;
  found->second.time += time;
}

DecodeTimes::Totals DecodeTimes::totals() const {
  const model::MutexLock lock(mutex_);
  return totals_;
}

}  // namespace ndlfs::backends
