// SPDX-License-Identifier: MIT
#include "backends/base/new_id.h"

#include <atomic>

namespace ndlfs::backends {

uint64_t NewId() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace ndlfs::backends
