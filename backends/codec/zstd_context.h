// SPDX-License-Identifier: MIT
#pragma once

#include <zstd.h>

namespace ndlfs::backends {

// zstd's decompressor of this thread; making one costs more than decoding a
// small chunk. Null if there is no memory for it.
ZSTD_DCtx* ZstdContext();

}  // namespace ndlfs::backends
