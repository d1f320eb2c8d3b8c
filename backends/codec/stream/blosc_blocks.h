// SPDX-License-Identifier: MIT
#pragma once

#include "backends/base/bytes.h"

namespace ndlfs::backends {

// Decodes a Blosc 1 container of LZ4 or Zstandard, with or without byte shuffle, as c-blosc
// does, but with less memory. This function needs one block of scratch memory, which the block
// pool keeps, and the decompressor that the thread has already; c-blosc allocates both in each
// call. `container` ends where its header says, and `decoded` has the size that its header
// says. Returns false, with anything in `decoded`, if the container is of another kind or not
// sound. The library then decodes it, or refuses it.
bool DecodeBloscBlocks(ConstByteSpan container, ByteSpan decoded);

}  // namespace ndlfs::backends
