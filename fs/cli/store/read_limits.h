// SPDX-License-Identifier: MIT
//
// Limits of commands that read whole stores.
#pragma once

#include <cstdint>

namespace ndlfs::fs {

// Memory for decoded chunks. Nobody asks twice for a chunk, so this is room for the chunks that
// are being decoded, and for the indexes of shards.
inline constexpr uint64_t kReadCacheSize = uint64_t{256} << 20;
// Groups that nest deeper are not entered.
inline constexpr int kMaxGroupDepth = 512;

}  // namespace ndlfs::fs
