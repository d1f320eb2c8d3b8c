// SPDX-License-Identifier: MIT
//
// Reads the encoded bytes of a chunk, for cache/, and for code that reads a few elements
// without a cache (read_elements.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "backends/format/array_source.h"
#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends {

// The sum of the sizes of `pieces` in a value of `available` bytes. kCorrupt if a piece lies
// beyond the end of the value.
model::Result<uint64_t> SizeOfPieces(std::span<const ByteRange> pieces, uint64_t available);

// kCorrupt if `size` is more than a sound chunk can have; `most` is its
// CodecChain::MaxEncodedSize().
model::Result<void> CheckEncodedSize(uint64_t size, uint64_t most);

// How to read the pieces of a chunk.
struct PieceReading {
  std::optional<Generation> version = std::nullopt;  // the version that the value must have
  const std::function<void()>* at_hand = nullptr;    // as in ReadOptions
  // Called once, with the size of the value. Returns the memory for all pieces together.
  const Reserve& reserve;
  // Called with the first answer of the store; nullopt: there is no such value. An error ends
  // the reading. May be null.
  std::function<model::Result<void>(const std::optional<ReadResult>&)> did_read = nullptr;
};

// Reads the pieces, one after the other, all from one version of the value. `location` must
// have a store and pieces. Returns false if nothing is stored. kCorrupt if the value is absent
// although it must exist, or if fewer bytes come than there is memory for. kStale if the value
// no longer has `version`, or changes meanwhile. Errors do not name the value.
model::Result<bool> ReadPieces(const ChunkLocation& location, const PieceReading& reading);

// The errors for a chunk that ends too early, and for one that is absent although it must exist
// (ChunkLocation::must_exist).
model::Failure CutShort();
model::Failure LostChunk();

}  // namespace ndlfs::backends
