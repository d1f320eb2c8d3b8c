// SPDX-License-Identifier: MIT
//
// Blosc 1 containers, with any of its compressors and shuffles: Zarr v3 and
// numcodecs "blosc", HDF5 filter 32001. All that decoding needs is in the
// container's header; the configuration only concerns encoding.
#include <blosc.h>

#include "backends/codec/factories.h"
#include "backends/codec/little_endian.h"

namespace ndlfs::backends {
namespace {

constexpr size_t kCompressedSizeOffset = 12;  // in the header of 16 bytes

class BloscCodec final : public BytesToBytesCodec {
 public:
  std::string_view name() const override { return "blosc"; }
  SizeBound EncodedSize(uint64_t decoded_size) const override {
    return CompressorBound(decoded_size);
  }

  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    NDLFS_TRY(const size_t size, CheckHeader(encoded, decoded.size()));
    // The library is told the exact size, and one thread: chunks are decoded
    // in parallel, not their parts.
    const int produced = blosc_decompress_ctx(encoded.data(), decoded.data(), size, 1);
    if (produced < 0 || static_cast<size_t>(produced) != size) {
      return model::Corrupt("invalid data, or a compressor that this c-blosc lacks");
    }
    return size;
  }

 private:
  // The decoded size, if the header agrees with what there is. Bytes after the
  // container are ignored, as numcodecs does.
  static model::Result<size_t> CheckHeader(ConstByteSpan encoded, size_t limit) {
    if (encoded.size() < BLOSC_MIN_HEADER_LENGTH) {
      return model::Corrupt("{} bytes, a header has {}", encoded.size(),
                            BLOSC_MIN_HEADER_LENGTH);
    }
    const auto compressed = LoadLittle<uint32_t>(encoded.data() + kCompressedSizeOffset);
    if (compressed > encoded.size()) {
      return model::Corrupt("{} bytes, the header says {}", encoded.size(), compressed);
    }
    size_t size = 0;
    if (blosc_cbuffer_validate(encoded.data(), compressed, &size) != 0) {
      return model::Corrupt("invalid header");
    }
    if (size > limit) {
      return model::Corrupt("decodes to {} bytes, expected at most {}", size, limit);
    }
    return size;
  }
};

}  // namespace

CodecResult MakeBlosc(const CodecConfig&) { return NewCodec<BloscCodec>(); }

}  // namespace ndlfs::backends
