// SPDX-License-Identifier: MIT
//
// One or several bzip2 streams: numcodecs "bz2", HDF5 filter 307.
#include <bzlib.h>

#include <algorithm>
#include <climits>

#include "backends/codec/factories.h"
#include "backends/store/cancellation.h"

namespace ndlfs::backends {
namespace {

// Decodes one bzip2 stream at a time. libbz2 counts in unsigned int.
class Decompressor {
 public:
  Decompressor() : ready_(BZ2_bzDecompressInit(&stream_, 0, 0) == BZ_OK) {}
  ~Decompressor() {
    if (ready_) BZ2_bzDecompressEnd(&stream_);
  }
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  // Removes the bytes that it reads and writes from the front of both spans.
  model::Result<void> DecodeStream(ConstByteSpan& encoded, ByteSpan& decoded) {
    if (!ready_) return model::Limit("not enough memory for a decompressor");
    for (;;) {
      NDLFS_RETURN_IF_ERROR(CancellationScope::CheckWithinChunk());
      const size_t in = std::min<size_t>(encoded.size(), UINT_MAX);
      const size_t out = std::min(decoded.size(), CancellationScope::kSliceBytes);
      stream_.next_in = const_cast<char*>(reinterpret_cast<const char*>(encoded.data()));
      stream_.avail_in = static_cast<unsigned>(in);
      stream_.next_out = reinterpret_cast<char*>(decoded.data());
      stream_.avail_out = static_cast<unsigned>(out);
      const int result = BZ2_bzDecompress(&stream_);
      const size_t read = in - stream_.avail_in;
      const size_t written = out - stream_.avail_out;
      encoded = encoded.subspan(read);
      decoded = decoded.subspan(written);
      if (result == BZ_STREAM_END) return {};
      if (result == BZ_MEM_ERROR) return model::Limit("not enough memory for a decompressor");
      if (result != BZ_OK) return model::Corrupt("invalid data");
      if (read != 0 || written != 0) continue;
      if (encoded.empty()) return model::Corrupt("truncated data");
      return model::Corrupt("decodes to more than expected");
    }
  }

 private:
  bz_stream stream_ = {};
  const bool ready_;
};

class Bz2Codec final : public BytesToBytesCodec {
 public:
  std::string_view name() const override { return "bz2"; }
  SizeBound EncodedSize(uint64_t decoded_size) const override {
    return CompressorBound(decoded_size);
  }
  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    ByteSpan rest = decoded;
    do {
      NDLFS_RETURN_IF_ERROR(Decompressor().DecodeStream(encoded, rest));
      // Ignores bytes after the last stream, like Python's bz2.
    } while (AsText(encoded).starts_with("BZh"));
    return decoded.size() - rest.size();
  }
};

}  // namespace

static CodecResult MakeBz2(const CodecConfig&) { return NewCodec<Bz2Codec>(); }

const CodecEntry kBz2Entry = {"", "bz2", "307", MakeBz2};
const CodecEntry kImagecodecsBz2Entry = {"imagecodecs_bz2", "imagecodecs_bz2", "", MakeBz2, ""};

}  // namespace ndlfs::backends
