// SPDX-License-Identifier: MIT
#pragma once

#include <cstring>

#include "backends/codec/codec.h"
#include "backends/codec/registry.h"

namespace ndlfs::backends {

// A codec that stores a checksum of 4 bytes before or after the data.
class ChecksumCodec : public BytesToBytesCodec {
 public:
  static constexpr size_t kSize = 4;
  enum class Location : uint8_t { kStart, kEnd };

  explicit ChecksumCodec(Location location) : location_(location) {}

  SizeBound EncodedSize(uint64_t decoded_size) const final {
    return {decoded_size + kSize, true};
  }
  bool DecodesToPart() const final { return true; }
  model::Result<ConstByteSpan> DecodePart(ConstByteSpan encoded) const final;
  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const final;

 protected:
  // Fails with kCorrupt if the 4 bytes `stored` are not the checksum of `data`.
  // The default compares them with Compute().
  virtual model::Result<void> Check(ConstByteSpan data, ConstByteSpan stored) const;
  // The checksum of `data`, which is stored as a little-endian number.
  virtual uint32_t Compute(ConstByteSpan data) const = 0;

 private:
  const Location location_;
};

// Reads numcodecs' {"location": "start" or "end"}; `otherwise` if it is absent.
model::Result<ChecksumCodec::Location> ParseChecksumLocation(const CodecConfig& config,
                                                             ChecksumCodec::Location otherwise);

// CRC-32C (Castagnoli), as in RFC 3720.
uint32_t Crc32c(ConstByteSpan data);
// The same for processors without an instruction for it.
uint32_t Crc32cPortable(ConstByteSpan data);

// Bob Jenkins' lookup3 (hashlittle).
uint32_t JenkinsLookup3(ConstByteSpan data, uint32_t initial);

}  // namespace ndlfs::backends
