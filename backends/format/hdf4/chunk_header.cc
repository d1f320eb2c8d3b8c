// SPDX-License-Identifier: MIT
#include "backends/format/hdf4/chunk_header.h"

namespace ndlfs::backends::hdf4 {

namespace {

unsigned Number(ConstByteSpan header, size_t at) {
  return static_cast<unsigned>(header[at]) << 8 | static_cast<unsigned>(header[at + 1]);
}

}  // namespace

// The description of a compressed element in the specification of HDF4, big-endian: 2 bytes
// that say what is special, 2 of a version, 4 of the length without compression, 2 of the
// reference, 2 of the model and 2 of the coding.
model::Result<void> CheckCoding(ConstByteSpan header, ArrayInfo::Coding coding) {
  constexpr unsigned kCompression = 3, kOnlyModel = 0, kNone = 0, kDeflate = 4;
  if (header.size() < kChunkHeaderBytes) {
    return model::Corrupt("a header of {} bytes for a chunk", header.size());
  }
  if (Number(header, 0) != kCompression) {
    return model::Unsupported("a chunk that is special in way {}", Number(header, 0));
  }
  if (coding == ArrayInfo::Coding::kByLibrary) return {};
  const unsigned expected = coding == ArrayInfo::Coding::kDeflate ? kDeflate : kNone;
  if (Number(header, 10) != kOnlyModel || Number(header, 12) != expected) {
    return model::Unsupported("a chunk with coding {} (model {}) in an array with coding {}",
                              Number(header, 12), Number(header, 10), expected);
  }
  return {};
}

model::Result<Piece> FindCompressed(ConstByteSpan header, ArrayInfo::Coding coding,
                                    const CompressedParts& parts) {
  NDLFS_RETURN_IF_ERROR(CheckCoding(header, coding));
  const unsigned reference = Number(header, 8);
  const auto found = parts.find(static_cast<uint16_t>(reference));
  if (found == parts.end()) {
    return model::Corrupt("the file has no element {} with compressed bytes", reference);
  }
  return found->second;
}

}  // namespace ndlfs::backends::hdf4
