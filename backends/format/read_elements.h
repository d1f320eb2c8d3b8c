// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/codec/codec_chain.h"
#include "backends/format/array_source.h"
#include "model/error.h"

namespace ndlfs::backends {

// One chunk of `shape`, fetched from `location` by this thread, and decoded by `codecs`. Empty
// if it is absent. An element stream, which only ChunkLocation::generate makes, has `limit`
// bytes at most. Errors do not name the store. Caches nothing.
model::Result<Bytes> ReadChunk(const CodecChain& codecs, const ChunkLocation& location,
                               const std::vector<uint64_t>& shape, uint64_t limit);

// All elements of a small array, in C order and little-endian: coordinates that a format
// compares before it shows an array. Elements must be of fixed size. kLimit for more than
// `max_bytes`. Caches nothing; all other elements are read through cache/.
model::Result<Bytes> ReadElements(const ArraySource& source, uint64_t max_bytes);

// The same for the elements that the array begins with: those of its first chunk or, if chunks
// are not encoded, some of them. kLimit if the chunk has more than `max_bytes`. The array must
// not be joined.
model::Result<Bytes> ReadFirstElements(const ArraySource& source, uint64_t max_bytes);

// All elements of a small array of texts as UTF-8, in C order. kLimit for more than `max_count`
// elements, kUnsupported for elements that are no texts.
model::Result<std::vector<std::string>> ReadTexts(const ArraySource& source,
                                                  uint64_t max_count);

}  // namespace ndlfs::backends
