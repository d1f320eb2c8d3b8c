// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "backends/base/bytes.h"

namespace ndlfs::backends {

// The compressors of Blosc 1 and 2, by their numbers in the flags of a chunk.
enum class BloscCompressor : uint8_t { kBloscLz = 0, kLz4 = 1, kZlib = 3, kZstd = 4 };

// The number of the compressor is in the highest three bits of the flags.
inline constexpr unsigned kBloscCompressorShift = 5;

// Decodes one stream of a block, without its length, to exactly stream.size() bytes. Returns
// false, with anything in `stream`, if `encoded` is not sound.
bool DecodeBloscStream(BloscCompressor compressor, ConstByteSpan encoded, ByteSpan stream);

}  // namespace ndlfs::backends
