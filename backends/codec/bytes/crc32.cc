// SPDX-License-Identifier: MIT
//
// numcodecs "crc32" and "adler32": zlib's checksums, before or after the data.
#include <libdeflate.h>

#include "backends/codec/checksum.h"
#include "backends/codec/factories.h"

namespace ndlfs::backends {
namespace {

class Crc32Codec final : public ChecksumCodec {
 public:
  using ChecksumCodec::ChecksumCodec;
  std::string_view name() const override { return "crc32"; }

 protected:
  uint32_t Compute(ConstByteSpan data) const override {
    return libdeflate_crc32(0, data.data(), data.size());
  }
};

class Adler32Codec final : public ChecksumCodec {
 public:
  using ChecksumCodec::ChecksumCodec;
  std::string_view name() const override { return "adler32"; }

 protected:
  uint32_t Compute(ConstByteSpan data) const override {
    return libdeflate_adler32(1, data.data(), data.size());
  }
};

}  // namespace

static CodecResult MakeCrc32(const CodecConfig& config) {
  NDLFS_TRY(const auto location, ParseChecksumLocation(config, ChecksumCodec::Location::kStart),
            "crc32");
  return NewCodec<Crc32Codec>(location);
}

static CodecResult MakeAdler32(const CodecConfig& config) {
  NDLFS_TRY(const auto location, ParseChecksumLocation(config, ChecksumCodec::Location::kStart),
            "adler32");
  return NewCodec<Adler32Codec>(location);
}

const CodecEntry kAdler32Entry = {"", "adler32", "", MakeAdler32};
const CodecEntry kCrc32Entry = {"", "crc32", "", MakeCrc32};

}  // namespace ndlfs::backends
