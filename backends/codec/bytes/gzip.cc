// SPDX-License-Identifier: MIT
//
// gzip files (RFC 1952) with one or several members: Zarr v3 and numcodecs "gzip".
#include <algorithm>

#include "backends/codec/factories.h"
#include "backends/codec/stream/deflate.h"

namespace ndlfs::backends {
namespace {

class GzipCodec final : public BytesToBytesCodec {
 public:
  std::string_view name() const override { return "gzip"; }
  SizeBound EncodedSize(uint64_t decoded_size) const override {
    return CompressorBound(decoded_size);
  }
  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    libdeflate_decompressor* context = DeflateContext();
    if (!context) return model::Limit("not enough memory for a decompressor");
    size_t total = 0;
    do {
      size_t read = 0;
      size_t written = 0;
      const libdeflate_result result = libdeflate_gzip_decompress_ex(
          context, encoded.data(), encoded.size(), decoded.data() + total,
          decoded.size() - total, &read, &written);
      if (result != LIBDEFLATE_SUCCESS) return DeflateFailure(result);
      encoded = encoded.subspan(read);
      total += written;
    } while (!IsPadding(encoded));
    return total;
  }

 private:
  // Files may end in zeros, which gzip skips, too.
  static bool IsPadding(ConstByteSpan rest) {
    return std::all_of(rest.begin(), rest.end(), [](std::byte b) { return b == std::byte{0}; });
  }
};

}  // namespace

static CodecResult MakeGzip(const CodecConfig&) { return NewCodec<GzipCodec>(); }

const CodecEntry kGzipEntry = {"gzip", "gzip", "", MakeGzip};
const CodecEntry kImagecodecsGzipEntry = {"imagecodecs_gzip", "imagecodecs_gzip", "", MakeGzip,
                                          ""};

}  // namespace ndlfs::backends
