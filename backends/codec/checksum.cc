// SPDX-License-Identifier: MIT
#include "backends/codec/checksum.h"

#include "backends/codec/factories.h"
#include "backends/codec/little_endian.h"

namespace ndlfs::backends {

model::Result<ConstByteSpan> ChecksumCodec::DecodePart(ConstByteSpan encoded) const {
  if (encoded.size() < kSize) {
    return model::Corrupt("{} bytes, no checksum", encoded.size());
  }
  const bool at_start = location_ == Location::kStart;
  const ConstByteSpan stored = at_start ? encoded.first(kSize) : encoded.last(kSize);
  const ConstByteSpan data =
      at_start ? encoded.subspan(kSize) : encoded.first(encoded.size() - kSize);
  NDLFS_RETURN_IF_ERROR(Check(data, stored));
  return data;
}

model::Result<size_t> ChecksumCodec::Decode(ConstByteSpan encoded, ByteSpan decoded) const {
  NDLFS_TRY(const ConstByteSpan data, DecodePart(encoded));
  if (data.size() > decoded.size()) {
    return model::Corrupt("{} bytes, expected at most {}", data.size(), decoded.size());
  }
  if (!data.empty()) std::memcpy(decoded.data(), data.data(), data.size());
  return data.size();
}

model::Result<void> ChecksumCodec::Check(ConstByteSpan data, ConstByteSpan stored) const {
  const auto expected = LoadLittle<uint32_t>(stored.data());
  const uint32_t found = Compute(data);
  if (found == expected) return {};
  return model::Corrupt("stored {:08x}, found {:08x}", expected, found);
}

model::Result<ChecksumCodec::Location> ParseChecksumLocation(
    const CodecConfig& config, ChecksumCodec::Location otherwise) {
  NDLFS_TRY(const auto location, TextMember(config, "location"));
  if (!location) return otherwise;
  if (*location == "start") return ChecksumCodec::Location::kStart;
  if (*location == "end") return ChecksumCodec::Location::kEnd;
  return model::BadInput("location: expected \"start\" or \"end\", found {}",
                         model::Quote(*location));
}

}  // namespace ndlfs::backends
