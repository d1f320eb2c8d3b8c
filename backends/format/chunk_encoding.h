// SPDX-License-Identifier: MIT
//
// How the chunks of an array are encoded, in words by which programs other than ndlfs decode
// them: the metadata of Zarr.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "backends/base/json.h"
#include "model/datatype.h"

namespace ndlfs::backends {

struct ChunkEncoding {
  // The elements, with the byte order in which they are stored.
  model::Datatype stored;
  // `codecs` of Zarr v3; nullopt if v3 has no words, or only few programs know them.
  std::optional<Json> zarr3 = std::nullopt;
  // {"order": ..., "filters": ..., "compressor": ...} of Zarr v2; nullopt likewise.
  std::optional<Json> zarr2 = std::nullopt;
  // If the elements, in C order or that of Fortran, go through codecs of bytes and no others:
  // these, as numcodecs has them, in the order of encoding.
  std::optional<Json> bytes_codecs = std::nullopt;
  // The order of the elements of a chunk that is encoded so.
  bool is_fortran = false;

  // Chunks may be encoded in other ways, too, as their locations or their heads tell.
  bool has_others = false;
  // What a stored chunk has in front of the bytes that the words describe. A chunk that begins
  // with other bytes is not encoded as they say.
  std::vector<std::byte> head = {};
  // How many bytes it has behind them: a checksum.
  size_t tail = 0;
};

// A capability of an ArraySource (by dynamic_cast).
class EncodedChunks {
 public:
  virtual ~EncodedChunks() = default;
  // Null if there are no words. Belongs to the source. It holds for chunks whose ChunkLocation
  // has bytes, and no codecs to leave out.
  virtual const ChunkEncoding* encoding() const = 0;
};

// The words for elements in C order that go through `codecs`, as ChunkEncoding::bytes_codecs
// has them. nullopt if one of these has no words in either version, or if the elements have
// several byte orders.
std::optional<ChunkEncoding> DescribeEncoding(const model::Datatype& stored, Json codecs);

// The words for the members of a .zarray, which have been accepted.
std::optional<ChunkEncoding> DescribeZarr2Encoding(const model::Datatype& stored,
                                                   const Json& filters, const Json& compressor,
                                                   bool is_fortran, size_t rank);

// The words for `codecs` of Zarr v3, which have been accepted, without shards.
std::optional<ChunkEncoding> DescribeZarr3Encoding(const model::Datatype& stored,
                                                   const Json& codecs, size_t rank);

}  // namespace ndlfs::backends
