// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace ndlfs::fs {

// Whether one user of a shared mount may take `amount` more of something that ends at `most`.
// The user has `own` of the `all` that users have taken. One greedy user gets three quarters,
// and two get three sevenths each, so others always find some.
inline bool HasShare(uint64_t own, uint64_t all, uint64_t most, uint64_t amount = 1) {
  return amount <= most && all <= most - amount && own + amount <= 3 * (most - all);
}

}  // namespace ndlfs::fs
