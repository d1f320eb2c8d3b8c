// SPDX-License-Identifier: MIT
//
// Decodes the pixels of compressed images, by section 10.4 of the FITS Standard 4.0.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/base/bytes.h"
#include "model/error.h"

namespace ndlfs::backends::foreign {

// Decodes `count` pixels of RICE_1 in blocks of `block_size`. `pixel_bytes`, which is 1, 2 or
// 4, is the size of a pixel for the encoder: 1 has no sign. kCorrupt if `encoded` ends too
// early.
model::Result<std::vector<int32_t>> DecodeRice(ConstByteSpan encoded, uint64_t count,
                                               unsigned pixel_bytes, uint64_t block_size);

// Decodes `count` pixels of PLIO_1. Zeros follow the last one that is encoded; kCorrupt if
// there are more than `count`.
model::Result<std::vector<int32_t>> DecodePlio(ConstByteSpan encoded, uint64_t count);

}  // namespace ndlfs::backends::foreign
