// SPDX-License-Identifier: MIT
//
// A stream is any number of blocks:
//
//   8 bytes  "LZ4Block"
//   uint8    high four bits: 1 stored, 2 compressed by LZ4; low: the level
//   uint32   size of the block that follows         (little-endian, as all)
//   uint32   size of the decompressed block
//   uint32   XXH32 of that, seed 0x9747b28c, without the highest four bits
//
// It ends with a block that decompresses to nothing.
#include "backends/format/n5/lz4_block_stream.h"

#include <lz4.h>
#include <xxhash.h>

#include <cstring>
#include <limits>

#include "backends/codec/little_endian.h"

namespace ndlfs::backends::n5 {
namespace {

constexpr std::string_view kMagic = "LZ4Block";
constexpr size_t kHeaderSize = 8 + 1 + 4 + 4 + 4;
constexpr uint32_t kSeed = 0x9747b28c;
constexpr uint32_t kChecksumMask = 0x0fffffff;

struct BlockHeader {
  bool is_compressed;
  uint32_t stored_size;
  uint32_t size;
  uint32_t checksum;
};

model::Result<BlockHeader> ParseHeader(ConstByteSpan bytes) {
  if (bytes.size() < kHeaderSize) return model::Corrupt("cut short in the header of a block");
  if (AsText(bytes.first(kMagic.size())) != kMagic) {
    return model::Corrupt("a block does not begin with \"LZ4Block\"");
  }
  const auto token = std::to_integer<uint8_t>(bytes[8]);
  const BlockHeader header{(token >> 4) == 2, LoadLittle<uint32_t>(bytes.data() + 9),
                           LoadLittle<uint32_t>(bytes.data() + 13),
                           LoadLittle<uint32_t>(bytes.data() + 17)};
  if (token >> 4 != 1 && token >> 4 != 2)
    return model::Corrupt("a block of method {}", token >> 4);
  if (header.stored_size > bytes.size() - kHeaderSize) {
    return model::Corrupt("a block of {} bytes, {} are there", header.stored_size,
                          bytes.size() - kHeaderSize);
  }
  if (!header.is_compressed && header.stored_size != header.size) {
    return model::Corrupt("a stored block of {} bytes in {}", header.size, header.stored_size);
  }
  return header;
}

class Lz4BlockStream final : public BytesToBytesCodec {
 public:
  std::string_view name() const override { return "lz4 blocks"; }

  SizeBound EncodedSize(uint64_t decoded_size) const override {
    // Every block is at least 64 bytes unless it is the last.
    const SizeBound bound = CompressorBound(decoded_size);
    return {bound.size + decoded_size / 64 * kHeaderSize + 2 * kHeaderSize, false};
  }

  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    size_t produced = 0;
    while (!encoded.empty()) {
      NDLFS_TRY(const BlockHeader header, ParseHeader(encoded));
      if (header.size > decoded.size() - produced) {
        return model::Corrupt("it decompresses to more than {} bytes", decoded.size());
      }
      if (header.size == 0) break;
      const ConstByteSpan stored = encoded.subspan(kHeaderSize, header.stored_size);
      const ByteSpan out = decoded.subspan(produced, header.size);
      NDLFS_RETURN_IF_ERROR(DecodeBlock(header, stored, out));
      produced += header.size;
      encoded = encoded.subspan(kHeaderSize + header.stored_size);
    }
    return produced;
  }

 private:
  static model::Result<void> DecodeBlock(const BlockHeader& header, ConstByteSpan stored,
                                         ByteSpan out) {
    if (!header.is_compressed) {
      std::memcpy(out.data(), stored.data(), out.size());
    } else {
      constexpr size_t kMax = std::numeric_limits<int>::max();
      if (stored.size() > kMax || out.size() > kMax) return model::Corrupt("a block too large");
      const int count = LZ4_decompress_safe(
          reinterpret_cast<const char*>(stored.data()), reinterpret_cast<char*>(out.data()),
          static_cast<int>(stored.size()), static_cast<int>(out.size()));
      if (count < 0 || static_cast<size_t>(count) != out.size()) {
        return model::Corrupt("a block does not decompress");
      }
    }
    const uint32_t found = XXH32(out.data(), out.size(), kSeed) & kChecksumMask;
    if (found == header.checksum) return {};
    return model::Corrupt("checksum: stored {:08x}, found {:08x}", header.checksum, found);
  }
};

}  // namespace

std::shared_ptr<const BytesToBytesCodec> MakeLz4BlockStream() {
  return std::make_shared<const Lz4BlockStream>();
}

}  // namespace ndlfs::backends::n5
