// SPDX-License-Identifier: MIT
//
// Chunks that take more than to fetch and decode them: those that a writer
// ended early, and those that are larger than what is stored.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/codec/codec_chain.h"
#include "backends/format/array_source.h"
#include "model/error.h"

namespace ndlfs::backends::hdf5 {

// Fetches and decodes, by `codecs`, what `location` says: a chunk of `shape`.
// Nothing, where it is absent. Errors do not name the store. An element stream has `limit`
// bytes at most.
model::Result<Bytes> ReadChunk(const CodecChain& codecs, const ChunkLocation& location,
                               const std::vector<uint64_t>& shape, uint64_t limit);

// How much of a chunk is stored.
struct StoredPart {
  std::vector<uint64_t> shape;  // of the stored chunk
  // How much of that counts along each dimension, from its beginning.
  std::vector<uint64_t> extents;
  std::vector<std::byte> fill;  // for all of it where it is absent; empty: zeros
};

// The chunk of `shape` that begins with `part`, whose elements are `stored`, or
// which is absent if that is empty, and is `fill` (one element; empty: zeros)
// everywhere else. An element stream has `limit` bytes at most.
model::Result<Bytes> CompleteChunk(const model::Datatype& type, const StoredPart& part,
                                   const std::vector<uint64_t>& shape,
                                   const std::vector<std::byte>& fill, Bytes stored,
                                   uint64_t limit);

// A codec for chunks that end early: they must have `least_bytes`, and zeros stand for the rest
// of the elements. It comes before all other codecs.
std::shared_ptr<const BytesToBytesCodec> MakeShortChunkCodec(uint64_t least_bytes);

}  // namespace ndlfs::backends::hdf5
