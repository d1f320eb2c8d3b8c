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

// How many bytes `pieces` make up in a value of `available` bytes. kCorrupt if one of them lies
// beyond its end.
model::Result<uint64_t> SizeOfPieces(std::span<const ByteRange> pieces, uint64_t available);

// kCorrupt if no sound chunk has so many encoded bytes; `most` is what
// CodecChain::MaxEncodedSize() says of it.
model::Result<void> CheckEncodedSize(uint64_t size, uint64_t most);

// How to read the pieces of a chunk.
struct PieceReading {
  std::optional<Generation> version = std::nullopt;  // the version that the value must have
  const std::function<void()>* at_hand = nullptr;    // as in ReadOptions
  // Called once, with the size of the value: the memory for all pieces together.
  const Reserve& reserve;
  // Called with the first answer of the store; nullopt: there is no such value. An error ends
  // the reading. May be null.
  std::function<model::Result<void>(const std::optional<ReadResult>&)> did_read = nullptr;
};

// Reads the pieces, one after the other, all from one version of the value. `location` must
// have a store and pieces. False if nothing is stored; kCorrupt if something must be (lost),
// and if fewer bytes come than there is memory for; kStale if the value with `version` is gone,
// or it changes meanwhile. Errors do not name the value.
model::Result<bool> ReadPieces(const ChunkLocation& location, const PieceReading& reading);

// What is wrong with a chunk that ended early, and with one that is not there although somebody
// has noted that it is.
model::Failure CutShort();
model::Failure LostChunk();

}  // namespace ndlfs::backends
