// SPDX-License-Identifier: MIT
//
// Blosc 1 containers, with any of its compressors and shuffles: Zarr v3 and
// numcodecs "blosc", HDF5 filter 32001. Decoding needs nothing but the header of the
// container; the configuration is for encoding only.
//
// A container has a header, a table of the offsets of the blocks (in any order,
// because several threads write them), and the blocks, each compressed by itself. If
// the flags say that the data are stored, they follow the header instead.
#include <blosc.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/codec/factories.h"
#include "backends/codec/little_endian.h"
#include "backends/codec/stream/blosc_stream.h"

namespace ndlfs::backends {
namespace {

// Offsets in the header of 16 bytes.
constexpr size_t kFlagsOffset = 2;
constexpr size_t kDecodedSizeOffset = 4;
constexpr size_t kBlockSizeOffset = 8;
constexpr size_t kCompressedSizeOffset = 12;
constexpr size_t kBloscHeaderSize = BLOSC_MIN_HEADER_LENGTH;

constexpr size_t kStartSize = 4;  // bytes of an entry of the table
constexpr uint64_t kMaxBlocks = (kMaxBlockTable - kBloscHeaderSize) / kStartSize;

// The sizes in a header. Reading them fails if the container is longer than the
// `available` bytes. Ignores bytes after the container, like numcodecs.
struct Sizes {
  size_t encoded;
  size_t decoded;
};
model::Result<Sizes> CheckHeader(ConstByteSpan head, uint64_t available) {
  if (head.size() < kBloscHeaderSize) {
    return model::Corrupt("{} bytes, a header has {}", head.size(), kBloscHeaderSize);
  }
  const auto encoded = LoadLittle<uint32_t>(head.data() + kCompressedSizeOffset);
  if (encoded > available) {
    return model::Corrupt("{} bytes, the header says {}", available, encoded);
  }
  size_t decoded = 0;  // the next call only reads the header
  if (blosc_cbuffer_validate(head.data(), encoded, &decoded) != 0) {
    return model::Corrupt("invalid header");
  }
  return Sizes{encoded, decoded};
}

// Decodes `container` into the beginning of `decoded`, to exactly `size` bytes.
model::Result<void> DecodeContainer(ConstByteSpan container, size_t size, ByteSpan decoded) {
  if (DecodeBloscBlocks(container, decoded.first(size))) return {};
  // Other writers, and old versions of the library, take any size of blocks.
  constexpr uint32_t kMostOfBlock = BLOSC_MAX_BLOCKSIZE;
  const auto block = LoadLittle<uint32_t>(container.data() + kBlockSizeOffset);
  if (block > kMostOfBlock && block <= size) {
    constexpr int kUnknownFlag = 0x08;
    const int flags = std::to_integer<int>(container[kFlagsOffset]);
    const bool is_stored = (flags & (BLOSC_MEMCPYED | kUnknownFlag)) == BLOSC_MEMCPYED &&
                           container.size() == kBloscHeaderSize + size;
    if (!is_stored) {
      return model::Limit("blocks of {} bytes: c-blosc decodes those of at most {}", block,
                          kMostOfBlock);
    }
    std::memcpy(decoded.data(), container.data() + kBloscHeaderSize, size);
    return {};
  }
  // One thread, because ndlfs decodes chunks in parallel, not their parts.
  const int produced =
      blosc_decompress_ctx(container.data(), decoded.data(), decoded.size(), 1);
  if (produced < 0 || static_cast<size_t>(produced) != size) {
    return model::Corrupt("invalid data, or a compressor that this c-blosc lacks");
  }
  return {};
}

// Decodes the blocks of a container one by one. It makes a container of each, so that
// the library decodes it with the same checks as a whole chunk. blosc_getitem() is no
// alternative: it trusts the container size in the header, and does not tell that it
// filled only a part of a block.
class Blocks {
 public:
  static model::Result<Blocks> Open(const EncodedChunk& encoded, uint64_t decoded_size) {
    Blocks blocks(encoded);
    NDLFS_RETURN_IF_ERROR(blocks.ReadHead());
    NDLFS_RETURN_IF_ERROR(blocks.CheckSizes(decoded_size));
    return blocks;
  }

  uint64_t block_size() const { return block_size_; }

  // Must be called before Decode().
  model::Result<void> ReadTable() {
    if (stored_) return {};
    const uint64_t count = (sizes_.decoded - 1) / block_size_ + 1;
    const uint64_t end = kBloscHeaderSize + count * kStartSize;  // 2^31 blocks at most
    if (count > kMaxBlocks) return model::Limit("{} blocks, to read some of them", count);
    if (end > sizes_.encoded) {
      return model::Corrupt("{} blocks in {} bytes", count, sizes_.encoded);
    }
    if (head_.size() < end) {
      head_ = Bytes(end);
      NDLFS_RETURN_IF_ERROR(encoded_->Read(0, head_.span()));
    }
    table_end_ = end;
    return {};
  }

  // Decodes the part of block `index` that lies in `out`, which begins at `offset` of
  // the decoded chunk.
  model::Result<void> Decode(uint64_t index, uint64_t offset, ByteSpan out) const {
    const uint64_t begin = index * block_size_;
    const size_t size = std::min<uint64_t>(block_size_, sizes_.decoded - begin);
    NDLFS_TRY(const Bytes container, MakeContainer(index, size));
    // The library needs room for a full block, even if the last one is smaller.
    if (begin >= offset && out.size() >= begin - offset + block_size_) {
      return DecodeContainer(container.span(), size, out.subspan(begin - offset, block_size_));
    }
    Bytes block(block_size_);
    NDLFS_RETURN_IF_ERROR(DecodeContainer(container.span(), size, block.span()));
    const uint64_t from = std::max(begin, offset);
    const uint64_t to = std::min(begin + size, offset + out.size());
    std::memcpy(out.data() + (from - offset), block.data() + (from - begin), to - from);
    return {};
  }

 private:
  struct Extent {
    uint64_t begin;
    uint64_t size;
  };

  explicit Blocks(const EncodedChunk& encoded) : encoded_(&encoded) {}

  model::Result<void> ReadHead() {
    constexpr uint64_t kUsualTable = 1024;
    head_ = Bytes(std::min<uint64_t>(encoded_->size(), kUsualTable));
    return encoded_->Read(0, head_.span());
  }

  model::Result<void> CheckSizes(uint64_t decoded_size) {
    NDLFS_TRY(sizes_, CheckHeader(std::as_const(head_).span(), encoded_->size()));
    if (sizes_.decoded != decoded_size) {
      return model::Corrupt("decodes to {} bytes, expected {}", sizes_.decoded, decoded_size);
    }
    block_size_ = LoadLittle<uint32_t>(head_.data() + kBlockSizeOffset);
    if (block_size_ == 0 || block_size_ > sizes_.decoded) {
      return model::Corrupt("blocks of {} bytes in {}", block_size_, sizes_.decoded);
    }
    stored_ = (std::to_integer<int>(head_.data()[kFlagsOffset]) & BLOSC_MEMCPYED) != 0;
    if (stored_ && sizes_.encoded != kBloscHeaderSize + sizes_.decoded) {
      return model::Corrupt("{} bytes stored in {}", sizes_.decoded, sizes_.encoded);
    }
    return {};
  }

  // Makes a container of block `index`, which decodes to `size` bytes.
  model::Result<Bytes> MakeContainer(uint64_t index, size_t size) const {
    NDLFS_TRY(const Extent place, Place(index, size));
    const size_t before = kBloscHeaderSize + (stored_ ? 0 : kStartSize);
    Bytes container(before + place.size);
    std::byte* const header = container.data();
    std::memcpy(header, head_.data(), kBloscHeaderSize);
    StoreLittle(static_cast<uint32_t>(size), header + kDecodedSizeOffset);
    StoreLittle(static_cast<uint32_t>(container.size()), header + kCompressedSizeOffset);
    if (!stored_) StoreLittle(static_cast<uint32_t>(before), header + kBloscHeaderSize);
    NDLFS_RETURN_IF_ERROR(encoded_->Read(place.begin, container.span().subspan(before)));
    return container;
  }

  // The position of the encoded block `index`. It ends where the next block in the
  // container begins.
  model::Result<Extent> Place(uint64_t index, size_t size) const {
    if (stored_) return Extent{kBloscHeaderSize + index * block_size_, size};
    const uint32_t begin = Start(kBloscHeaderSize + index * kStartSize);
    if (begin < table_end_ || begin >= sizes_.encoded) {
      return model::Corrupt("block {} begins at byte {} of {}", index, begin, sizes_.encoded);
    }
    uint64_t end = sizes_.encoded;
    for (uint64_t at = kBloscHeaderSize; at < table_end_; at += kStartSize) {
      if (const uint32_t other = Start(at); other > begin && other < end) end = other;
    }
    if (kBloscHeaderSize + kStartSize + (end - begin) > CompressorBound(block_size_).size) {
      return model::Corrupt("block {} of {} bytes has {} encoded bytes", index, block_size_,
                            end - begin);
    }
    return Extent{begin, end - begin};
  }

  uint32_t Start(uint64_t at) const { return LoadLittle<uint32_t>(head_.data() + at); }

  const EncodedChunk* encoded_;
  Bytes head_;  // the header, and the table after ReadTable()
  Sizes sizes_ = {};
  uint64_t block_size_ = 0;
  uint64_t table_end_ = 0;
  bool stored_ = false;
};

class BloscCodec final : public BytesToBytesCodec {
 public:
  std::string_view name() const override { return "blosc"; }
  SizeBound EncodedSize(uint64_t decoded_size) const override {
    return CompressorBound(decoded_size);
  }

  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    NDLFS_TRY(const Sizes sizes, CheckHeader(encoded, encoded.size()));
    if (sizes.decoded > decoded.size()) {
      return model::Corrupt("decodes to {} bytes, expected at most {}", sizes.decoded,
                            decoded.size());
    }
    // Tells the library the exact size.
    NDLFS_RETURN_IF_ERROR(DecodeContainer(encoded.first(sizes.encoded), sizes.decoded,
                                          decoded.first(sizes.decoded)));
    return sizes.decoded;
  }

  bool DecodesRanges() const override { return true; }

  model::Result<uint64_t> BlockSize(const EncodedChunk& encoded,
                                    uint64_t decoded_size) const override {
    NDLFS_TRY(const Blocks blocks, Blocks::Open(encoded, decoded_size));
    return blocks.block_size();
  }

  model::Result<void> DecodeRange(const EncodedChunk& encoded, uint64_t decoded_size,
                                  uint64_t offset, uint64_t max_block,
                                  ByteSpan out) const override {
    if (out.empty()) return {};
    NDLFS_TRY(Blocks blocks, Blocks::Open(encoded, decoded_size));
    if (blocks.block_size() > max_block) {
      return model::Limit("blocks of {} bytes, more than {}", blocks.block_size(), max_block);
    }
    NDLFS_RETURN_IF_ERROR(blocks.ReadTable());
    const uint64_t last = (offset + out.size() - 1) / blocks.block_size();
    for (uint64_t index = offset / blocks.block_size(); index <= last; ++index) {
      NDLFS_RETURN_IF_ERROR(blocks.Decode(index, offset, out));
    }
    return {};
  }
};

}  // namespace

static CodecResult MakeBlosc(const CodecConfig&) { return NewCodec<BloscCodec>(); }

const CodecEntry kBloscEntry = {"blosc", "blosc", "32001", MakeBlosc};
const CodecEntry kImagecodecsBloscEntry = {"imagecodecs_blosc", "imagecodecs_blosc", "",
                                           MakeBlosc, ""};

}  // namespace ndlfs::backends
