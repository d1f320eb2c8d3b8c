// SPDX-License-Identifier: MIT
//
// HDF5 filter 32004 (lz4): the decoded size as a big-endian uint64, the size of a block
// as a uint32, then raw LZ4 blocks, each after its encoded size. If that is equal to
// the decoded size, the block is not compressed.
#include <lz4.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "backends/codec/factories.h"
#include "backends/codec/little_endian.h"

namespace ndlfs::backends {
namespace {

constexpr size_t kHdf5Lz4HeaderSize = 12;
constexpr size_t kBlockHeaderSize = 4;

model::Result<void> DecodeBlock(ConstByteSpan encoded, ByteSpan decoded) {
  if (encoded.size() == decoded.size()) {
    std::memcpy(decoded.data(), encoded.data(), decoded.size());
    return {};
  }
  if (encoded.size() > INT_MAX || decoded.size() > INT_MAX) {
    return model::Corrupt("a block of {} bytes", decoded.size());
  }
  const int produced = LZ4_decompress_safe(
      reinterpret_cast<const char*>(encoded.data()), reinterpret_cast<char*>(decoded.data()),
      static_cast<int>(encoded.size()), static_cast<int>(decoded.size()));
  if (produced >= 0 && static_cast<size_t>(produced) == decoded.size()) return {};
  return model::Corrupt("invalid data in a block");
}

class Hdf5Lz4Codec final : public BytesToBytesCodec {
 public:
  std::string_view name() const override { return "lz4"; }
  // Blocks may be very small, and each adds 4 bytes.
  SizeBound EncodedSize(uint64_t decoded_size) const override {
    return {2 * decoded_size + 65536, false};
  }
  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    if (encoded.size() < kHdf5Lz4HeaderSize) {
      return model::Corrupt("{} bytes, a header has {}", encoded.size(), kHdf5Lz4HeaderSize);
    }
    const auto size = LoadBig<uint64_t>(encoded.data());
    const auto block_size = LoadBig<uint32_t>(encoded.data() + 8);
    if (size > decoded.size()) {
      return model::Corrupt("decodes to {} bytes, expected at most {}", size, decoded.size());
    }
    if (block_size == 0 && size != 0) return model::Corrupt("blocks of 0 bytes");
    encoded = encoded.subspan(kHdf5Lz4HeaderSize);
    for (size_t at = 0; at < size;) {
      const size_t step = std::min<size_t>(block_size, size - at);
      NDLFS_TRY(const ConstByteSpan block, TakeBlock(encoded));
      NDLFS_RETURN_IF_ERROR(DecodeBlock(block, decoded.subspan(at, step)));
      at += step;
    }
    return size;
  }

 private:
  static model::Result<ConstByteSpan> TakeBlock(ConstByteSpan& encoded) {
    if (encoded.size() < kBlockHeaderSize) return model::Corrupt("truncated data");
    const auto size = LoadBig<uint32_t>(encoded.data());
    encoded = encoded.subspan(kBlockHeaderSize);
    if (size > encoded.size()) return model::Corrupt("truncated data");
    const ConstByteSpan block = encoded.first(size);
    encoded = encoded.subspan(size);
    return block;
  }
};

}  // namespace

static CodecResult MakeHdf5Lz4(const CodecConfig&) { return NewCodec<Hdf5Lz4Codec>(); }

// With a frame of its own.
const CodecEntry kHdf5Lz4Entry = {"", "", "32004", MakeHdf5Lz4, "lz4"};

}  // namespace ndlfs::backends
