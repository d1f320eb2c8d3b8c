// SPDX-License-Identifier: MIT
//
// One or several Zstandard frames, with or without the size in the header: Zarr v3 and
// numcodecs "zstd", HDF5 filter 32015.
#include <zstd.h>

#include <memory>

#include "backends/codec/factories.h"
#include "backends/codec/stream/zstd_context.h"

namespace ndlfs::backends {
namespace {

struct FreeContext {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

class ZstdCodec final : public BytesToBytesCodec {
 public:
  std::string_view name() const override { return "zstd"; }
  SizeBound EncodedSize(uint64_t decoded_size) const override {
    return CompressorBound(decoded_size);
  }
  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    if (encoded.empty()) return model::Corrupt("no data");
    return DecodeZstd(encoded, decoded);
  }
};

}  // namespace

ZSTD_DCtx* ZstdContext() {
  thread_local const std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
  return context.get();
}

model::Result<size_t> DecodeZstd(ConstByteSpan encoded, ByteSpan decoded) {
  ZSTD_DCtx* context = ZstdContext();
  if (!context) return model::Limit("not enough memory for a decompressor");
  const size_t size = ZSTD_decompressDCtx(context, decoded.data(), decoded.size(),
                                          encoded.data(), encoded.size());
  if (ZSTD_isError(size)) return model::Corrupt("{}", ZSTD_getErrorName(size));
  return size;
}

model::Result<size_t> DecodeZstdBeginning(ConstByteSpan encoded, ByteSpan decoded,
                                          bool& is_cut) {
  if (const auto size = DecodeZstd(encoded, decoded)) return *size;
  const std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
  if (!context) return model::Limit("not enough memory for a decompressor");
  ZSTD_inBuffer in = {encoded.data(), encoded.size(), 0};
  ZSTD_outBuffer out = {decoded.data(), decoded.size(), 0};
  while (out.pos < out.size) {
    const size_t left = ZSTD_decompressStream(context.get(), &out, &in);
    if (ZSTD_isError(left)) return model::Corrupt("{}", ZSTD_getErrorName(left));
    is_cut = left != 0 && in.pos < in.size;
    if (in.pos == in.size && out.pos < out.size) break;
  }
  return out.pos;
}

static CodecResult MakeZstd(const CodecConfig&) { return NewCodec<ZstdCodec>(); }

const CodecEntry kImagecodecsZstdEntry = {"imagecodecs_zstd", "imagecodecs_zstd", "", MakeZstd,
                                          ""};
const CodecEntry kZstdEntry = {"zstd", "zstd", "32015", MakeZstd};

}  // namespace ndlfs::backends
