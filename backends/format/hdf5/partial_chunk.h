// SPDX-License-Identifier: MIT
//
// Chunks that take more work than fetching and decoding: those that a writer ended early, and
// those that are shown larger than they are stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/codec/codec.h"
#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::backends::hdf5 {

// The part of a chunk that is stored.
struct StoredPart {
  std::vector<uint64_t> shape;  // of the stored chunk
  // How much of the stored chunk counts along each dimension, from its beginning.
  std::vector<uint64_t> extents;
  std::vector<std::byte> fill;  // for all of the part if it is absent; empty: zeros
};

// Makes the chunk of `shape` that begins with `part`. The elements of the part are `stored`; if
// that is empty, the part is absent. Elsewhere the chunk is `fill` (one element; empty: zeros).
// An element stream has `limit` bytes at most.
model::Result<Bytes> CompleteChunk(const model::Datatype& type, const StoredPart& part,
                                   const std::vector<uint64_t>& shape,
                                   const std::vector<std::byte>& fill, Bytes stored,
                                   uint64_t limit);

// A codec for chunks that end early: such a chunk must have `least_bytes`; the missing elements
// are zeros. It comes before all other codecs.
std::shared_ptr<const BytesToBytesCodec> MakeShortChunkCodec(uint64_t least_bytes);

}  // namespace ndlfs::backends::hdf5
