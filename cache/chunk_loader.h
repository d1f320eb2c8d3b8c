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

// Decoded size in bytes of a chunk of `shape` with elements of fixed size; 0
// for other elements. Sources have checked that this does not overflow.
uint64_t DecodedSize(const backends::ArraySpec& spec, std::span<const uint64_t> shape);

// The same for the largest chunks of the array.
uint64_t MaxDecodedSize(const backends::ArraySpec& spec);

// The most memory, in bytes, that reading and decoding such a chunk needs in addition to the
// decoded chunk.
uint64_t TransientSize(const backends::ArraySpec& spec, const std::vector<uint64_t>& shape);

// model::MemoryBudget::CheckChunk() of such a chunk and what its codecs need. The encoded bytes
// do not count, as they may be few.
model::Result<void> CheckFits(const backends::ArraySpec& spec,
                              const std::vector<uint64_t>& shape);

// The most memory, in bytes, that loading a chunk of up to `limit` bytes needs
// if its elements are of variable size. The size of such a chunk is not known
// before it is decoded.
uint64_t VariableSize(uint64_t limit);

// The context that all loads of the chunks of one array share.
struct LoadContext {
  backends::IndexCache& indexes;
  // Notes the versions of the files that are read; may be null.
  ChunkLedger* ledger = nullptr;
  // Measures fetches, and says when to decode; may be null.
  LoadPace* pace = nullptr;
  backends::DecodeTimes* decode_times = nullptr;  // counts what codecs do; may be null
  // Called with the number of bytes that a load needs in addition to the chunk, once the size
  // of the encoded bytes is known. Not called for elements of variable size. May be null.
  const std::function<void(uint64_t)>* needs_only = nullptr;
};

// Reads and decodes one chunk: the elements of the whole chunk, or an element stream (see
// backends/format/array_source.h) if they are of variable size. An absent chunk is an empty
// block: the fill value stands for its elements. The ledger notes the versions of the files
// that are read; another version than the noted one is kStale. Errors name the place in the
// store and the codec. Elements of variable size may take `limit` bytes, encoded and decoded:
// more is kLimit or kCorrupt, as not every codec can tell which. Thread-safe.
model::Result<backends::Bytes> LoadChunk(const backends::ArraySource& source,
                                         std::span<const uint64_t> index,
                                         const LoadContext& context, uint64_t limit);

// Whether the bytes of the chunk of a slow store seem to be kept on this machine
// (backends/store/kept_values.h). False if this cannot be told.
bool IsKept(const backends::ArraySource& source, std::span<const uint64_t> index,
            const LoadContext& context);

// Whether the chunk is stored; false if it is absent. Looks at the source, and may read an
// index, but not the chunk.
model::Result<bool> IsStored(const backends::ArraySource& source,
                             std::span<const uint64_t> index, const LoadContext& context);

// The bytes that are stored of the chunk, encoded; 0 if it is absent. nullopt if the source
// cannot tell without reading the chunk. Looks as IsStored() does.
model::Result<std::optional<uint64_t>> StoredSize(const backends::ArraySource& source,
                                                  std::span<const uint64_t> index,
                                                  const LoadContext& context);

// The bytes of a chunk as they are stored.
struct StoredBytes {
  enum class Kind : uint8_t {
    kAbsent,
    kEncoded,  // by the codecs of the array, all of them
    // Anything else: codecs were left out, only a library can read the chunk, or the source
    // says of it what cannot be. Only decoding the chunk tells what it has.
    kOther,
  };
  Kind kind = Kind::kAbsent;
  backends::ChunkLocation location;
  uint64_t size = 0;  // of a chunk that is kEncoded
  // The version of the value that has them, if it is known.
  std::optional<backends::Generation> version = std::nullopt;
};

// Looks at the source as IsStored() does.
model::Result<StoredBytes> FindStored(const backends::ArraySource& source,
                                      std::span<const uint64_t> index,
                                      const LoadContext& context);

// Fills `out`, which ends before `stored.size`, with the bytes from `offset` on. The ledger
// notes what is read, as in LoadChunk(). kStale if they are no longer of that version.
model::Result<void> ReadStored(const StoredBytes& stored, const LoadContext& context,
                               uint64_t offset, backends::ByteSpan out);

// Whether parts of the chunks of such arrays can be read directly from the
// file, because the chunks are neither encoded nor small.
bool MayReadInPlace(const backends::ArraySpec& spec);

// Calls `read` with a function that reads from byte `offset` of such a chunk. The ledger notes
// the files, as in LoadChunk(). False if the chunk is absent or has to be loaded as a whole;
// the caller must then discard the bytes that `read` has got.
using ReadChunkAt = std::function<bool(uint64_t offset, backends::ByteSpan out)>;
model::Result<bool> ReadInPlace(const backends::ArraySource& source,
                                std::span<const uint64_t> index, const LoadContext& context,
                                const std::function<void(const ReadChunkAt&)>& read);

// Whether chunks of such arrays can be decoded in parts.
bool MayLoadParts(const backends::ArraySpec& spec);

// The most memory, in bytes, that loading a part needs in addition if blocks
// have up to `max_block` bytes.
uint64_t PartTransientSize(uint64_t max_block);

// The size in bytes of the blocks of a chunk; the codec decodes a block as a
// whole. nullopt if the chunk is absent or has to be loaded as a whole.
model::Result<std::optional<uint64_t>> FindBlockSize(const backends::ArraySource& source,
                                                     std::span<const uint64_t> index,
                                                     const LoadContext& context);

// Decodes bytes [offset, offset + size) of a chunk, and reads no more than that
// needs. Unlike LoadChunk(), fails if the chunk is absent or has blocks of more
// than `max_block` bytes.
model::Result<backends::Bytes> LoadPart(const backends::ArraySource& source,
                                        std::span<const uint64_t> index,
                                        const LoadContext& context, uint64_t offset,
                                        uint64_t size, uint64_t max_block);

}  // namespace ndlfs::cache
