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

// Decodes a Blosc 1 container of LZ4 or Zstandard, with or without byte shuffle, as c-blosc
// does, but with less memory. This function needs one block of scratch memory, which the block
// pool keeps, and the decompressor that the thread has already; c-blosc allocates both in each
// call. `container` ends where its header says, and `decoded` has the size that its header
// says. Returns false, with anything in `decoded`, if the container is of another kind or not
// sound. The library then decodes it, or refuses it.
bool DecodeBloscBlocks(ConstByteSpan container, ByteSpan decoded);

}  // namespace ndlfs::backends
