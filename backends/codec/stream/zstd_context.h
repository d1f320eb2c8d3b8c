// SPDX-License-Identifier: MIT
#pragma once

#include <zstd.h>

#include <cstddef>

#include "backends/base/bytes.h"
#include "model/error.h"

namespace ndlfs::backends {

// The zstd decompressor of this thread; null if there is no memory for it. It is
// kept because making one costs more than decoding a small chunk.
ZSTD_DCtx* ZstdContext();

// Decodes zstd frames into the beginning of `decoded`, and returns the number of
// bytes written. Fails with kCorrupt if more than decoded.size() are needed.
model::Result<size_t> DecodeZstd(ConstByteSpan encoded, ByteSpan decoded);

}  // namespace ndlfs::backends
