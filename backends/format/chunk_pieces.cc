// SPDX-License-Identifier: MIT
#include "backends/format/chunk_pieces.h"

#include <algorithm>

namespace ndlfs::backends {

using model::Corrupt;
using model::Result;

model::Failure CutShort() { return Corrupt("it was cut short while being read"); }

model::Failure LostChunk() { return Corrupt("the file that it refers to is not there"); }

Result<uint64_t> SizeOfPieces(std::span<const ByteRange> pieces, uint64_t available) {
  uint64_t total = 0;
  for (const ByteRange& piece : pieces) {
    const uint64_t rest = available - std::min(piece.offset, available);
    const bool is_open = piece.length == ByteRange::kToEnd;
    if (piece.offset > available || (!is_open && piece.length > rest)) {
      return Corrupt("bytes {} + {} lie beyond the end at {}", piece.offset, piece.length,
                     available);
    }
    total += std::min(piece.length, rest);  // below 2^63: files are
  }
  return total;
}

Result<void> CheckEncodedSize(uint64_t size, uint64_t most) {
  if (size <= most) return {};
  return Corrupt("{} encoded bytes, more than the {} of any sound chunk", size, most);
}

Result<bool> ReadPieces(const ChunkLocation& location, const PieceReading& reading) {
  ByteSpan rest;
  std::optional<Generation> version = reading.version;
  bool is_first = true;
  const Reserve reserve = [&](uint64_t available) -> Result<ByteSpan> {
    if (is_first) {
      NDLFS_TRY(rest, reading.reserve(available));
    }
    return rest;
  };
  for (const ByteRange& piece : location.pieces) {
    NDLFS_TRY(const auto read, location.store->Read(location.key,
                                                    {.range = piece,
                                                     .if_match = version,
                                                     .at_hand = reading.at_hand,
                                                     .never_changes = location.never_changes},
                                                    reserve));
    if (is_first && reading.did_read) NDLFS_RETURN_IF_ERROR(reading.did_read(read));
    if (!read && is_first) {
      if (location.must_exist) return LostChunk();
      if (version) return model::Stale("it is gone");
      return false;
    }
    if (!read || read->count != std::min<uint64_t>(piece.length, rest.size())) {
      return CutShort();
    }
    rest = rest.subspan(read->count);
    version = read->info.generation;
    is_first = false;
  }
  if (!rest.empty()) return CutShort();
  return true;
}

}  // namespace ndlfs::backends
