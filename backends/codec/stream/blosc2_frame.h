// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/base/bytes.h"
#include "model/error.h"

namespace ndlfs::backends {

// The header of a contiguous frame of Blosc 2 (README_CFRAME_FORMAT of c-blosc2).
struct Blosc2Frame {
  // The B2ND metalayer: an array in a grid of chunks, which are in a grid of blocks each. Edges
  // are padded. All have the same rank, and no extent of `chunk` and `block` is 0.
  struct Grid {
    std::vector<uint64_t> shape;
    std::vector<uint64_t> chunk;
    std::vector<uint64_t> block;  // not larger than `chunk`
  };

  ConstByteSpan chunks;  // the chunks, one after the other
  ConstByteSpan index;   // what comes after them: the chunk of their offsets, and the trailer
  uint64_t decoded_size = 0;  // of all chunks, in bytes
  uint64_t chunk_size = 0;    // of each chunk decoded; the last one may be smaller
  uint64_t element_size = 0;  // not 0
  std::optional<Grid> grid;
};

// Reads the header at the beginning of `bytes`, which may have more after the frame. The result
// refers to `bytes`.
model::Result<Blosc2Frame> ReadBlosc2Frame(ConstByteSpan bytes);

}  // namespace ndlfs::backends
