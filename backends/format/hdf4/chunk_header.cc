// SPDX-License-Identifier: MIT
#include "backends/format/hdf4/chunk_header.h"

namespace ndlfs::backends::hdf4 {

// The description of a compressed element in the specification of HDF4, big-endian: 2 bytes
// that say what is special, 2 of a version, 4 of the length without compression, 2 of the
// reference.
model::Result<Piece> FindCompressed(ConstByteSpan header, const CompressedParts& parts) {
  constexpr unsigned kCompression = 3;
  const auto number = [&](size_t at) {
    return static_cast<unsigned>(header[at]) << 8 | static_cast<unsigned>(header[at + 1]);
  };
  if (header.size() < kChunkHeaderBytes) {
    return model::Corrupt("a header of {} bytes for a chunk", header.size());
  }
  if (number(0) != kCompression) {
    return model::Unsupported("a chunk that is special in way {}", number(0));
  }
  const auto found = parts.find(static_cast<uint16_t>(number(8)));
  if (found == parts.end()) {
    return model::Corrupt("the file has no element {} with compressed bytes", number(8));
  }
  return found->second;
}

}  // namespace ndlfs::backends::hdf4
