// SPDX-License-Identifier: MIT
//
// A stream is any number of blocks:
//
//   8 bytes  "LZ4Block"
//   uint8    high four bits: 1 stored, 2 compressed by LZ4; low: the level
//   uint32   size of the block that follows         (little-endian, as all)
//   uint32   size of what it decompresses to
//   uint32   XXH32 of that, seed 0x9747b28c, without the highest four bits
//
// It ends with a block that decompresses to nothing.
#include "backends/n5/lz4_block_stream.h"

#include <lz4.h>

#include <bit>
#include <cstring>
#include <limits>

#include "backends/codec/little_endian.h"

namespace ndlfs::backends::n5 {
namespace {

constexpr std::string_view kMagic = "LZ4Block";
constexpr size_t kHeaderSize = 8 + 1 + 4 + 4 + 4;
constexpr uint32_t kSeed = 0x9747b28c;
constexpr uint32_t kChecksumMask = 0x0fffffff;

// https://github.com/Cyan4973/xxHash, doc/xxhash_spec.md, "XXH32".
class XxHash32 {
 public:
  static uint32_t Of(ConstByteSpan bytes, uint32_t seed) {
    const size_t total = bytes.size();
    uint32_t hash = seed + kPrime5;
    if (total >= 16) hash = Stripes(bytes, seed);
    hash += static_cast<uint32_t>(total);
    for (; bytes.size() >= 4; bytes = bytes.subspan(4)) {
      hash = std::rotl(hash + Load(bytes) * kPrime3, 17) * kPrime4;
    }
    for (const std::byte byte : bytes) {
      hash = std::rotl(hash + std::to_integer<uint32_t>(byte) * kPrime5, 11) * kPrime1;
    }
    hash = (hash ^ hash >> 15) * kPrime2;
    hash = (hash ^ hash >> 13) * kPrime3;
    return hash ^ hash >> 16;
  }

 private:
  static constexpr uint32_t kPrime1 = 0x9e3779b1;
  static constexpr uint32_t kPrime2 = 0x85ebca77;
  static constexpr uint32_t kPrime3 = 0xc2b2ae3d;
  static constexpr uint32_t kPrime4 = 0x27d4eb2f;
  static constexpr uint32_t kPrime5 = 0x165667b1;

  static uint32_t Load(ConstByteSpan bytes) { return LoadLittle<uint32_t>(bytes.data()); }

  // Takes whole stripes of 16 bytes off.
  static uint32_t Stripes(ConstByteSpan& bytes, uint32_t seed) {
    uint32_t lanes[4] = {seed + kPrime1 + kPrime2, seed + kPrime2, seed, seed - kPrime1};
    for (; bytes.size() >= 16; bytes = bytes.subspan(16)) {
      for (size_t i = 0; i < 4; ++i) {
        lanes[i] = std::rotl(lanes[i] + Load(bytes.subspan(4 * i)) * kPrime2, 13) * kPrime1;
      }
    }
    return std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) +
           std::rotl(lanes[3], 18);
  }
};

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
    const uint32_t found = XxHash32::Of(out, kSeed) & kChecksumMask;
    if (found == header.checksum) return {};
    return model::Corrupt("checksum: stored {:08x}, found {:08x}", header.checksum, found);
  }
};

}  // namespace

std::shared_ptr<const BytesToBytesCodec> MakeLz4BlockStream() {
  return std::make_shared<const Lz4BlockStream>();
}

}  // namespace ndlfs::backends::n5
