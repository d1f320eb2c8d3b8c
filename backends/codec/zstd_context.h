// SPDX-License-Identifier: MIT
#pragma once

#include <zstd.h>

#include <cstddef>

#include "backends/base/bytes.h"
#include "model/error.h"

namespace ndlfs::backends {

// zstd's decompressor of this thread; making one costs more than decoding a
// small chunk. Null if there is no memory for it.
ZSTD_DCtx* ZstdContext();

// Decodes zstd frames into `decoded`; returns how many bytes that made. Fails
// where they make more.
model::Result<size_t> DecodeZstd(ConstByteSpan encoded, ByteSpan decoded);

}  // namespace ndlfs::backends
