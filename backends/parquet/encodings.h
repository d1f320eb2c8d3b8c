// SPDX-License-Identifier: MIT
//
// Encodings.md of apache/parquet-format. All functions fail with kCorrupt if the bytes end
// early, and allocate nothing but the values.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/base/bytes.h"
#include "model/error.h"

namespace ndlfs::backends::parquet {

// Reads `count` numbers of `width` bits (32 at most) in runs, each of equal numbers or of
// packed ones. Bytes that follow are ignored.
model::Result<std::vector<uint32_t>> DecodeRuns(ConstByteSpan bytes, unsigned width,
                                                uint64_t count);

// DELTA_BINARY_PACKED: takes `count` numbers from the beginning of `bytes`.
model::Result<std::vector<int64_t>> TakeDeltas(ConstByteSpan& bytes, uint64_t count);

}  // namespace ndlfs::backends::parquet
