// SPDX-License-Identifier: MIT
//
// HDF5 filter 305 (lzo), as PyTables has written it since 2004: one LZO1X stream.
// Decoding does not need the parameters (level, version and kind of object).
#include "backends/codec/factories.h"

#if NDLFS_WITH_LZO

#include <lzo/lzo1x.h>

namespace ndlfs::backends {
namespace {

class LzoCodec final : public BytesToBytesCodec {
 public:
  std::string_view name() const override { return "lzo"; }
  SizeBound EncodedSize(uint64_t decoded_size) const override {
    return CompressorBound(decoded_size);
  }
  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    lzo_uint size = decoded.size();
    const int status = ::lzo1x_decompress_safe(
        reinterpret_cast<const unsigned char*>(encoded.data()), encoded.size(),
        reinterpret_cast<unsigned char*>(decoded.data()), &size, nullptr);
    if (status == LZO_E_OUTPUT_OVERRUN) {
      return model::Corrupt("decodes to more than {} bytes", decoded.size());
    }
    if (status != LZO_E_OK) return model::Corrupt("invalid or truncated data");
    return size;
  }
};

}  // namespace

static CodecResult MakeLzo(const CodecConfig&) { return NewCodec<LzoCodec>(); }

}  // namespace ndlfs::backends

#else

namespace ndlfs::backends {
static constexpr CodecFactory MakeLzo = nullptr;
}  // namespace ndlfs::backends

#endif

namespace ndlfs::backends {

const CodecEntry kLzoEntry = {"", "", "305", MakeLzo, "lzo"};

}  // namespace ndlfs::backends
