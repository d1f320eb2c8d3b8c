// SPDX-License-Identifier: MIT
//
// numcodecs "lz4": the decoded size as a little-endian uint32, then one raw
// LZ4 block.
#include <lz4.h>

#include "backends/codec/factories.h"
#include "backends/codec/little_endian.h"

namespace ndlfs::backends {
namespace {

constexpr size_t kLz4HeaderSize = 4;

class Lz4Codec final : public BytesToBytesCodec {
 public:
  std::string_view name() const override { return "lz4"; }
  SizeBound EncodedSize(uint64_t decoded_size) const override {
    return CompressorBound(decoded_size);
  }
  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    if (encoded.size() < kLz4HeaderSize) {
      return model::Corrupt("{} bytes, no header", encoded.size());
    }
    const uint32_t size = LoadLittle<uint32_t>(encoded.data());
    const ConstByteSpan block = encoded.subspan(kLz4HeaderSize);
    if (size > decoded.size() || size > LZ4_MAX_INPUT_SIZE || block.size() > INT_MAX) {
      return model::Corrupt("decodes to {} bytes, expected at most {}", size, decoded.size());
    }
    const int produced = LZ4_decompress_safe(
        reinterpret_cast<const char*>(block.data()), reinterpret_cast<char*>(decoded.data()),
        static_cast<int>(block.size()), static_cast<int>(size));
    if (produced < 0) return model::Corrupt("invalid data at byte {}", -int64_t{produced} - 1);
    if (static_cast<uint32_t>(produced) != size) {
      return model::Corrupt("decodes to {} bytes, its header says {}", produced, size);
    }
    return size;
  }
};

}  // namespace

static CodecResult MakeLz4(const CodecConfig&) { return NewCodec<Lz4Codec>(); }

const CodecEntry kLz4Entry = {"", "lz4", "", MakeLz4};

}  // namespace ndlfs::backends
