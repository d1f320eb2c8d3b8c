// SPDX-License-Identifier: MIT
//
// HDF5 filter 4 (szip): the decoded size as a little-endian uint32, then what
// the szip library made; libaec reads it.
extern "C" {  // libaec 1.0.6 leaves this to its users
#include <szlib.h>
}

#include "backends/codec/factories.h"
#include "backends/codec/hdf5_config.h"
#include "backends/codec/little_endian.h"

namespace ndlfs::backends {
namespace {

constexpr size_t kHeaderSize = 4;

class SzipCodec final : public BytesToBytesCodec {
 public:
  explicit SzipCodec(const SZ_com_t& parameters) : parameters_(parameters) {}

  std::string_view name() const override { return "szip"; }
  SizeBound EncodedSize(uint64_t decoded_size) const override {
    return CompressorBound(decoded_size);
  }
  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    if (encoded.size() <= kHeaderSize) return model::Corrupt("{} bytes", encoded.size());
    const auto expected = LoadLittle<uint32_t>(encoded.data());
    if (expected > decoded.size()) {
      return model::Corrupt("decodes to {} bytes, expected at most {}", expected,
                            decoded.size());
    }
    SZ_com_t parameters = parameters_;  // the library wants to be able to write
    size_t size = expected;
    const int status =
        SZ_BufftoBuffDecompress(decoded.data(), &size, encoded.data() + kHeaderSize,
                                encoded.size() - kHeaderSize, &parameters);
    if (status == SZ_MEM_ERROR) return model::Limit("not enough memory for a decompressor");
    if (status != SZ_OK || size != expected) return model::Corrupt("invalid or truncated data");
    return size;
  }

 private:
  const SZ_com_t parameters_;
};

// Options, pixels per block, bits per pixel, pixels per scanline. A scanline
// shorter than a block would make the library pad it many times over; libhdf5
// never writes one.
model::Result<AnyCodec> ParseSzip(const CodecConfig& config) {
  NDLFS_TRY(const auto values, ParseClientData(config, 4));
  const uint32_t block = values[1];
  const uint32_t bits = values[2];
  const uint32_t scanline = values[3];
  if (block < 2 || block > SZ_MAX_PIXELS_PER_BLOCK || block % 2 != 0 || bits == 0 ||
      (bits > 32 && bits != 64) || scanline < block || scanline > SZ_MAX_PIXELS_PER_SCANLINE) {
    return model::BadInput("{} pixels per block, {} bits per pixel, {} pixels per scanline",
                           block, bits, scanline);
  }
  SZ_com_t parameters;
  parameters.options_mask = static_cast<int>(values[0] & 0xff);
  parameters.pixels_per_block = static_cast<int>(block);
  parameters.bits_per_pixel = static_cast<int>(bits);
  parameters.pixels_per_scanline = static_cast<int>(scanline);
  return NewCodec<SzipCodec>(parameters);
}

}  // namespace

CodecResult MakeSzip(const CodecConfig& config) {
  auto codec = ParseSzip(config);
  if (!codec) return model::Propagate(std::move(codec).error(), "szip");
  return codec;
}

}  // namespace ndlfs::backends
