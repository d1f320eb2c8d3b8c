// SPDX-License-Identifier: MIT
//
// HDF5 filter 32008 (bitshuffle): blocks of elements whose bits are sorted by their
// position in the element. A rest of less than eight elements is not shuffled. With
// compression there is a header (decoded size as a big-endian uint64, bytes of a
// block as a uint32), and the encoded size before each block.
#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "backends/codec/factories.h"
#include "backends/codec/hdf5_config.h"
#include "backends/codec/little_endian.h"
#include "backends/codec/stream/zstd_context.h"
#include "backends/codec/unshuffle.h"

namespace ndlfs::backends {
namespace {

constexpr size_t kBitshuffleHeaderSize = 12;
constexpr size_t kGroup = 8;  // elements whose bits fill whole bytes

enum class Compression : uint8_t { kNone = 0, kLz4 = 2, kZstd = 3 };

// The default of the library: 8 KiB, in whole groups.
size_t DefaultBlock(size_t element_size) {
  return std::max<size_t>(8192 / element_size / kGroup * kGroup, 128);
}

// Memory for the intermediate results of a block.
struct BlockMemory {
  Bytes shuffled;
  Bytes planes;
};

// The memory of this thread for blocks of usual size; for larger ones `large`, which
// the caller frees after the chunk.
BlockMemory& MemoryFor(size_t size, BlockMemory& large) {
  constexpr size_t kKept = 64 << 10;
  thread_local BlockMemory kept{Bytes(kKept), Bytes(kKept)};
  if (size <= kKept) return kept;
  large = {Bytes(size), Bytes(size)};
  return large;
}

class BitshuffleCodec final : public BytesToBytesCodec {
 public:
  BitshuffleCodec(size_t element_size, size_t block, Compression compression)
      : element_size_(element_size), block_(block), compression_(compression) {}

  std::string_view name() const override { return "bitshuffle"; }
  SizeBound EncodedSize(uint64_t decoded_size) const override {
    if (compression_ == Compression::kNone) return {decoded_size, true};
    return {2 * decoded_size + 65536, false};  // blocks may be very small
  }

  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    size_t size = encoded.size();
    size_t block = block_;
    if (compression_ != Compression::kNone) {
      NDLFS_TRY(block, TakeHeader(encoded, size));
    }
    if (size > decoded.size()) {
      return model::Corrupt("decodes to {} bytes, expected at most {}", size, decoded.size());
    }
    NDLFS_RETURN_IF_ERROR(DecodeBlocks(encoded, block, decoded.first(size)));
    return size;
  }

 private:
  // Removes the header. Returns the elements of a block, and the decoded size in
  // `size`.
  model::Result<size_t> TakeHeader(ConstByteSpan& encoded, size_t& size) const {
    if (encoded.size() < kBitshuffleHeaderSize) {
      return model::Corrupt("{} bytes, a header has {}", encoded.size(), kBitshuffleHeaderSize);
    }
    size = LoadBig<uint64_t>(encoded.data());
    const size_t block = LoadBig<uint32_t>(encoded.data() + 8) / element_size_;
    if (block == 0 || block % kGroup != 0)
      return model::Corrupt("blocks of {} elements", block);
    encoded = encoded.subspan(kBitshuffleHeaderSize);
    return block;
  }

  model::Result<void> DecodeBlocks(ConstByteSpan encoded, size_t block,
                                   ByteSpan decoded) const {
    const size_t count = decoded.size() / element_size_;
    const size_t whole = count / kGroup * kGroup;
    BlockMemory large;
    BlockMemory& memory = MemoryFor(std::min(block, whole) * element_size_, large);
    for (size_t done = 0; done < whole;) {
      const size_t step = std::min(block, whole - done);
      const size_t bytes = step * element_size_;
      const std::byte* shuffled = nullptr;
      NDLFS_TRY(shuffled, TakeBlock(encoded, bytes, memory));
      BitUnshuffle(shuffled, step, element_size_, memory.planes.data(),
                   decoded.data() + done * element_size_);
      done += step;
    }
    const size_t rest = decoded.size() - whole * element_size_;
    if (encoded.size() < rest) return model::Corrupt("truncated data");
    if (rest != 0) std::memcpy(decoded.data() + decoded.size() - rest, encoded.data(), rest);
    return {};
  }

  // Removes a block from `encoded`, and decompresses it to `bytes` bytes.
  model::Result<const std::byte*> TakeBlock(ConstByteSpan& encoded, size_t bytes,
                                            BlockMemory& memory) const {
    if (compression_ == Compression::kNone) {  // all sizes are exact here
      const std::byte* block = encoded.data();
      encoded = encoded.subspan(bytes);
      return block;
    }
    if (encoded.size() < 4) return model::Corrupt("truncated data");
    const auto size = LoadBig<uint32_t>(encoded.data());
    encoded = encoded.subspan(4);
    if (size > encoded.size()) return model::Corrupt("truncated data");
    const bool ok = Decompress(encoded.first(size), memory.shuffled.span().first(bytes));
    if (!ok) return model::Corrupt("invalid data in a block");
    encoded = encoded.subspan(size);
    return memory.shuffled.data();
  }

  bool Decompress(ConstByteSpan encoded, ByteSpan decoded) const {
    if (compression_ == Compression::kZstd) {
      ZSTD_DCtx* context = ZstdContext();
      return context != nullptr &&
             ZSTD_decompressDCtx(context, decoded.data(), decoded.size(), encoded.data(),
                                 encoded.size()) == decoded.size();
    }
    if (encoded.size() > INT_MAX || decoded.size() > INT_MAX) return false;
    const int produced = LZ4_decompress_safe(
        reinterpret_cast<const char*>(encoded.data()), reinterpret_cast<char*>(decoded.data()),
        static_cast<int>(encoded.size()), static_cast<int>(decoded.size()));
    return produced >= 0 && static_cast<size_t>(produced) == decoded.size();
  }

  const size_t element_size_;
  const size_t block_;  // elements
  const Compression compression_;
};

// Reads version, revision, element size, elements of a block (0: the default), and
// compression; the last two may be missing.
model::Result<AnyCodec> ParseBitshuffle(const CodecConfig& config) {
  NDLFS_TRY(auto values, ParseClientData(config, 3));
  values.resize(std::max<size_t>(values.size(), 5), 0);
  const size_t element_size = values[2];
  if (element_size == 0) return model::BadInput("elements of 0 bytes");
  const size_t block = values[3] != 0 ? values[3] : DefaultBlock(element_size);
  if (block % kGroup != 0) return model::BadInput("blocks of {} elements", block);
  if (values[4] != 0 && values[4] != 2 && values[4] != 3) {
    return model::Unsupported("unknown compression {}", values[4]);
  }
  return NewCodec<BitshuffleCodec>(element_size, block, static_cast<Compression>(values[4]));
}

}  // namespace

static CodecResult MakeBitshuffle(const CodecConfig& config) {
  auto codec = ParseBitshuffle(config);
  if (!codec) return model::Propagate(std::move(codec).error(), "bitshuffle");
  return codec;
}

const CodecEntry kBitshuffleEntry = {"", "", "32008", MakeBitshuffle, "bitshuffle"};

}  // namespace ndlfs::backends
