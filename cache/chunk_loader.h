// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/format/array_source.h"
#include "cache/chunk_ledger.h"
#include "cache/load_pace.h"
#include "model/error.h"

namespace ndlfs::cache {

// Bytes that a decoded chunk of `shape` occupies, where elements have a fixed
// size; 0 for others. Sources have checked that this does not overflow.
uint64_t DecodedSize(const backends::ArraySpec& spec, std::span<const uint64_t> shape);

// What reading and decoding such a chunk may take besides.
uint64_t TransientSize(const backends::ArraySpec& spec, const std::vector<uint64_t>& shape);

// What loading a chunk of elements of variable size takes, of up to `limit`
// bytes: nobody knows how large it is before it is decoded.
uint64_t VariableSize(uint64_t limit);

// What loads of the chunks of one array have in common.
struct LoadContext {
  backends::IndexCache& indexes;
  // Notes the versions of the files that are read; may be null.
  ChunkLedger* ledger = nullptr;
  // Measures fetches, and says when to decode; may be null.
  LoadPace* pace = nullptr;
};

// Reads and decodes one chunk: the elements of the whole chunk, or an element
// stream (see backends/format/array_source.h) where they are of variable size. An
// absent chunk is an empty block: the fill value stands for its elements. The
// versions of the files that it is read from are noted in the ledger; one that is not the
// version read before is kStale. Errors name the place in the store and the codec. Elements of
// variable size may take `limit` bytes, encoded and decoded: more is kLimit or kCorrupt, as not
// every codec can tell which. Thread-safe.
model::Result<backends::Bytes> LoadChunk(const backends::ArraySource& source,
                                         std::span<const uint64_t> index,
                                         const LoadContext& context, uint64_t limit);

// Chunks of such arrays can be read where they lie, in parts: they are not
// encoded, nor small.
bool MayReadInPlace(const backends::ArraySpec& spec);

// Calls `read` with a function that reads from byte `offset` of such a chunk,
// whose files are noted as LoadChunk does. False, whatever `read` has done,
// for a chunk that has to be loaded as a whole, or is absent.
using ReadChunkAt = std::function<bool(uint64_t offset, backends::ByteSpan out)>;
model::Result<bool> ReadInPlace(const backends::ArraySource& source,
                                std::span<const uint64_t> index, const LoadContext& context,
                                const std::function<void(const ReadChunkAt&)>& read);

// Chunks of such arrays can be decoded in parts.
bool MayLoadParts(const backends::ArraySpec& spec);

// What loading a part may take besides, where blocks have `max_block` bytes.
uint64_t PartTransientSize(uint64_t max_block);

// Bytes of a chunk that are decoded together; nullopt for one that has to be
// loaded as a whole, or is absent.
model::Result<std::optional<uint64_t>> FindBlockSize(const backends::ArraySource& source,
                                                     std::span<const uint64_t> index,
                                                     const LoadContext& context);

// Bytes [offset, offset + size) of a chunk, decoded without reading what is not
// needed for them. Fails also where LoadChunk does not: for a chunk that is
// absent, or made of blocks of more than `max_block` bytes.
model::Result<backends::Bytes> LoadPart(const backends::ArraySource& source,
                                        std::span<const uint64_t> index,
                                        const LoadContext& context, uint64_t offset,
                                        uint64_t size, uint64_t max_block);

}  // namespace ndlfs::cache
