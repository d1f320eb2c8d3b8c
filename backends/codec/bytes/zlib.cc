// SPDX-License-Identifier: MIT
//
// One zlib stream (RFC 1950): numcodecs "zlib", HDF5 filter 1 (deflate).
#include <zlib.h>

#include <algorithm>
#include <memory>

#include "backends/codec/factories.h"
#include "backends/codec/stream/deflate.h"

namespace ndlfs::backends {
namespace {

// Fills `decoded`. Unlike libdeflate, zlib also writes a part of a match.
model::Result<size_t> InflateByZlib(ConstByteSpan encoded, ByteSpan decoded) {
  constexpr size_t kMostAtOnce = size_t{1} << 30;
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) return model::Limit("not enough memory for a decompressor");
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> owner(&stream, inflateEnd);
  size_t in = 0, out = 0;
  for (int result = Z_OK; result == Z_OK && out < decoded.size();) {
    const size_t input = std::min(encoded.size() - in, kMostAtOnce);
    const size_t output = std::min(decoded.size() - out, kMostAtOnce);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(encoded.data() + in));
    stream.avail_in = static_cast<uInt>(input);
    stream.next_out = reinterpret_cast<Bytef*>(decoded.data() + out);
    stream.avail_out = static_cast<uInt>(output);
    result = inflate(&stream, Z_NO_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END) return model::Corrupt("invalid data");
    in += input - stream.avail_in;
    out += output - stream.avail_out;
  }
  return out;
}

// `is_cut`: as in DecodeBeginning; null refuses data that go on.
model::Result<size_t> DecodeZlib(ConstByteSpan encoded, ByteSpan decoded, bool* is_cut) {
  libdeflate_decompressor* context = DeflateContext();
  if (!context) return model::Limit("not enough memory for a decompressor");
  // Ignores bytes after the stream, like Python's zlib and libhdf5.
  size_t read = 0;
  size_t written = 0;
  const libdeflate_result result = libdeflate_zlib_decompress_ex(
      context, encoded.data(), encoded.size(), decoded.data(), decoded.size(), &read, &written);
  if (is_cut != nullptr) *is_cut = result == LIBDEFLATE_INSUFFICIENT_SPACE;
  if (is_cut != nullptr && *is_cut) return InflateByZlib(encoded, decoded);
  if (result != LIBDEFLATE_SUCCESS) return DeflateFailure(result);
  return written;
}

class ZlibCodec final : public BytesToBytesCodec {
 public:
  std::string_view name() const override { return "zlib"; }
  SizeBound EncodedSize(uint64_t decoded_size) const override {
    return CompressorBound(decoded_size);
  }
  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    return DecodeZlib(encoded, decoded, nullptr);
  }
};

}  // namespace

model::Result<size_t> DecodeZlibBeginning(ConstByteSpan encoded, ByteSpan decoded,
                                          bool& is_cut) {
  return DecodeZlib(encoded, decoded, &is_cut);
}

static CodecResult MakeZlib(const CodecConfig&) { return NewCodec<ZlibCodec>(); }

const CodecEntry kImagecodecsZlibEntry = {"imagecodecs_zlib", "imagecodecs_zlib", "", MakeZlib,
                                          ""};
const CodecEntry kImagecodecsZlibngEntry = {"imagecodecs_zlibng", "imagecodecs_zlibng", "",
                                            MakeZlib, ""};
const CodecEntry kImagecodecsZopfliEntry = {"imagecodecs_zopfli", "imagecodecs_zopfli", "",
                                            MakeZlib, ""};
const CodecEntry kZlibEntry = {"", "zlib", "1", MakeZlib};

}  // namespace ndlfs::backends
