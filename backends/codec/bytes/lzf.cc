// SPDX-License-Identifier: MIT
//
// HDF5 filter 32000 (h5py's "lzf"): one LZF stream. liblzf checks both sizes before
// every read and write.
#include <liblzf/lzf.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "backends/codec/factories.h"

namespace ndlfs::backends {
namespace {

class LzfCodec final : public BytesToBytesCodec {
 public:
  std::string_view name() const override { return "lzf"; }
  SizeBound EncodedSize(uint64_t decoded_size) const override {
    return CompressorBound(decoded_size);
  }
  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    if (encoded.empty()) return model::Corrupt("no data");
    constexpr size_t kMax = std::numeric_limits<unsigned>::max();
    if (encoded.size() > kMax) return model::Corrupt("{} bytes", encoded.size());
    const auto room = static_cast<unsigned>(std::min(decoded.size(), kMax));
    const unsigned size = ::lzf_decompress(
        encoded.data(), static_cast<unsigned>(encoded.size()), decoded.data(), room);
    if (size != 0) return size;
    if (errno == E2BIG) return model::Corrupt("decodes to more than {} bytes", room);
    return model::Corrupt("invalid or truncated data");
  }
};

}  // namespace

static CodecResult MakeLzf(const CodecConfig&) { return NewCodec<LzfCodec>(); }

const CodecEntry kLzfEntry = {"", "", "32000", MakeLzf, "lzf"};

}  // namespace ndlfs::backends
