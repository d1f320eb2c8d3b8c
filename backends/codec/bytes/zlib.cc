// SPDX-License-Identifier: MIT
//
// One zlib stream (RFC 1950): numcodecs "zlib", HDF5 filter 1 (deflate).
#include "backends/codec/factories.h"
#include "backends/codec/stream/deflate.h"

namespace ndlfs::backends {
namespace {

class ZlibCodec final : public BytesToBytesCodec {
 public:
  std::string_view name() const override { return "zlib"; }
  SizeBound EncodedSize(uint64_t decoded_size) const override {
    return CompressorBound(decoded_size);
  }
  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    libdeflate_decompressor* context = DeflateContext();
    if (!context) return model::Limit("not enough memory for a decompressor");
    // Ignores bytes after the stream, like Python's zlib and libhdf5.
    size_t read = 0;
    size_t written = 0;
    const libdeflate_result result =
        libdeflate_zlib_decompress_ex(context, encoded.data(), encoded.size(), decoded.data(),
                                      decoded.size(), &read, &written);
    if (result != LIBDEFLATE_SUCCESS) return DeflateFailure(result);
    return written;
  }
};

}  // namespace

static CodecResult MakeZlib(const CodecConfig&) { return NewCodec<ZlibCodec>(); }

const CodecEntry kImagecodecsZlibEntry = {"imagecodecs_zlib", "imagecodecs_zlib", "", MakeZlib,
                                          ""};
const CodecEntry kImagecodecsZlibngEntry = {"imagecodecs_zlibng", "imagecodecs_zlibng", "",
                                            MakeZlib, ""};
const CodecEntry kImagecodecsZopfliEntry = {"imagecodecs_zopfli", "imagecodecs_zopfli", "",
                                            MakeZlib, ""};
const CodecEntry kZlibEntry = {"", "zlib", "1", MakeZlib};

}  // namespace ndlfs::backends
