// SPDX-License-Identifier: MIT
//
// The header has the 16 bytes of Blosc 1, and 16 more with up to six filters in the order of
// encoding. A table of the offsets of the blocks follows, as in Blosc 1. A block is one stream,
// or one for each byte of an element. A stream begins with its length; lengths below 1 stand
// for bytes that are all the same.
#include "backends/codec/stream/blosc2_chunk.h"

#include <algorithm>
#include <cstring>

#include "backends/codec/little_endian.h"
#include "backends/codec/unshuffle.h"

namespace ndlfs::backends {
namespace {

constexpr size_t kExtendedHeader = 32;
constexpr size_t kFirstFilter = 16;
constexpr size_t kFirstFilterMeta = 24;
constexpr size_t kFilterSlots = 6;
constexpr size_t kBlosc2FlagsOffset = 31;
constexpr size_t kBlockStart = 4;
constexpr uint8_t kStableVersion = 5;
constexpr uint8_t kStreamVersion = 1;

// Flags.
constexpr unsigned kIsExtended = 0x05;  // both bits
constexpr unsigned kIsStored = 0x02;
constexpr unsigned kIsOneStream = 0x10;

constexpr unsigned kBlosc2HasDictionary = 0x01;
constexpr unsigned kBlosc2SpecialShift = 4;
constexpr unsigned kBlosc2SpecialBits = 0x70;

enum class Blosc2Filter : uint8_t { kNone, kShuffle, kBitShuffle, kDelta, kTruncated };

// The width of the numbers that the delta filter takes elements for.
size_t DeltaWidth(size_t element_size) {
  switch (element_size) {
    case 2:
    case 4:
    case 8:
      return element_size;
    default:
      return element_size % 8 == 0 ? 8 : 1;
  }
}

// One byte, if all bytes of a stream are that byte; `size` is the negative length, and `token`
// says what it means.
model::Result<std::byte> RepeatedByte(int32_t size, std::byte token) {
  if ((token & std::byte{1}) == std::byte{} || size < -255) {
    return model::Unsupported("a stream of the unknown kind {}, {}",
                              std::to_integer<int>(token), size);
  }
  return static_cast<std::byte>(-size);
}

}  // namespace

model::Result<Blosc2Chunk> Blosc2Chunk::Open(ConstByteSpan bytes) {
  if (bytes.size() < kExtendedHeader) {
    return model::Corrupt("a chunk of {} bytes, a header has {}", bytes.size(),
                          kExtendedHeader);
  }
  const auto version = std::to_integer<unsigned>(bytes[0]);
  Blosc2Chunk chunk;
  chunk.flags_ = std::to_integer<unsigned>(bytes[2]);
  if (version != kStableVersion || (chunk.flags_ & kIsExtended) != kIsExtended) {
    return model::Unsupported("a chunk of version {}", version);
  }
  const auto encoded_size = LoadLittle<uint32_t>(&bytes[12]);
  if (encoded_size < kExtendedHeader || encoded_size > bytes.size()) {
    return model::Corrupt("a chunk of {} bytes, the header says {}", bytes.size(),
                          encoded_size);
  }
  chunk.bytes_ = bytes.first(encoded_size);
  chunk.element_size_ = std::to_integer<size_t>(bytes[3]);
  chunk.decoded_size_ = LoadLittle<uint32_t>(&bytes[4]);
  chunk.block_size_ = LoadLittle<uint32_t>(&bytes[8]);
  if (chunk.element_size_ == 0) return model::Corrupt("elements of 0 bytes");
  const auto flags = std::to_integer<unsigned>(bytes[kBlosc2FlagsOffset]);
  if ((flags & kBlosc2HasDictionary) != 0) {
    return model::Unsupported("a chunk with a dictionary");
  }
  if ((flags & ~kBlosc2SpecialBits) != 0) {
    return model::Unsupported("a chunk with the flags 0x{:02x}", flags);
  }
  NDLFS_RETURN_IF_ERROR(chunk.ReadSpecial((flags & kBlosc2SpecialBits) >> kBlosc2SpecialShift));
  if (chunk.is_constant()) return chunk;
  NDLFS_RETURN_IF_ERROR(chunk.CheckBlocks());
  NDLFS_RETURN_IF_ERROR(chunk.ReadFilters());
  return chunk;
}

model::Result<void> Blosc2Chunk::ReadSpecial(unsigned kind) {
  if (kind > static_cast<unsigned>(Special::kUninitialized)) {
    return model::Unsupported("special values of the unknown kind {}", kind);
  }
  special_ = static_cast<Special>(kind);
  if (special_ == Special::kNan) {
    if (element_size_ == sizeof(float)) {
      StoreLittle<uint32_t>(0x7fc00000, value_.data());
    } else if (element_size_ == sizeof(double)) {
      StoreLittle<uint64_t>(0x7ff8000000000000, value_.data());
    } else {
      return model::Corrupt("NaNs of {} bytes", element_size_);
    }
  }
  if (special_ == Special::kValue) {
    if (bytes_.size() < kExtendedHeader + element_size_) {
      return model::Corrupt("a chunk of {} bytes with a value of {}", bytes_.size(),
                            element_size_);
    }
    std::memcpy(value_.data(), &bytes_[kExtendedHeader], element_size_);
  }
  return {};
}

model::Result<void> Blosc2Chunk::CheckBlocks() const {
  if (decoded_size_ == 0) return {};
  if (block_size_ == 0 || block_size_ > decoded_size_) {
    return model::Corrupt("blocks of {} bytes in a chunk of {}", block_size_, decoded_size_);
  }
  if ((flags_ & kIsStored) != 0) {
    if (bytes_.size() == kExtendedHeader + decoded_size_) return {};
    return model::Corrupt("{} bytes stored in {}", decoded_size_, bytes_.size());
  }
  if (std::to_integer<uint8_t>(bytes_[1]) != kStreamVersion) {
    return model::Unsupported("streams of version {}", std::to_integer<unsigned>(bytes_[1]));
  }
  const uint64_t count = (decoded_size_ - 1) / block_size_ + 1;
  if (kExtendedHeader + count * kBlockStart > bytes_.size()) {
    return model::Corrupt("{} blocks in {} bytes", count, bytes_.size());
  }
  return {};
}

model::Result<void> Blosc2Chunk::ReadFilters() {
  if ((flags_ & kIsStored) != 0) return {};
  const unsigned compressor = flags_ >> kBloscCompressorShift;
  compressor_ = static_cast<BloscCompressor>(compressor);
  if (compressor_ != BloscCompressor::kBloscLz && compressor_ != BloscCompressor::kLz4 &&
      compressor_ != BloscCompressor::kZlib && compressor_ != BloscCompressor::kZstd) {
    return model::Unsupported("compressor {} of Blosc 2", compressor);
  }
  bool is_first = true;
  for (size_t slot = 0; slot < kFilterSlots; ++slot) {
    const auto number = std::to_integer<unsigned>(bytes_[kFirstFilter + slot]);
    const auto filter = static_cast<Blosc2Filter>(number);
    if (filter == Blosc2Filter::kNone) continue;
    if (filter == Blosc2Filter::kDelta) {
      // It refers to elements before all filters, so that after another one it cannot be
      // undone.
      if (!is_first) return model::Unsupported("filter delta after another one");
      has_delta_ = true;
    } else if (filter == Blosc2Filter::kShuffle || filter == Blosc2Filter::kBitShuffle) {
      // Only shuffles have a size of their own.
      const auto meta = std::to_integer<size_t>(bytes_[kFirstFilterMeta + slot]);
      const bool is_bitwise = filter == Blosc2Filter::kBitShuffle;
      filters_.push_back({is_bitwise, is_bitwise || meta == 0 ? element_size_ : meta});
    } else if (filter != Blosc2Filter::kTruncated) {  // which cannot be undone
      return model::Unsupported("filter {} of Blosc 2", number);
    } else if (has_delta_) {
      return model::Unsupported("filter delta with truncation");
    }
    is_first = false;
  }
  std::reverse(filters_.begin(), filters_.end());
  return {};
}

void Blosc2Chunk::Fill(uint64_t offset, ByteSpan out) const {
  if (special_ == Special::kZeros || special_ == Special::kUninitialized) {
    return std::fill(out.begin(), out.end(), std::byte{});
  }
  for (size_t i = 0; i < out.size(); ++i) out[i] = value_[(offset + i) % element_size_];
}

model::Result<void> Blosc2Chunk::Decode(uint64_t offset, ByteSpan out) {
  if (is_constant()) {
    Fill(offset, out);
    return {};
  }
  if ((flags_ & kIsStored) != 0) {
    std::memcpy(out.data(), bytes_.data() + kExtendedHeader + offset, out.size());
    return {};
  }
  for (size_t i = 0; i < std::min<size_t>(filters_.size(), 2); ++i) {
    if (scratch_[i].empty()) scratch_[i] = Bytes(block_size_);
  }
  ByteSpan block = filters_.empty() ? out : scratch_[0].span().first(out.size());
  NDLFS_RETURN_IF_ERROR(DecodeStreams(offset, block));
  for (size_t i = 0; i < filters_.size(); ++i) {
    const bool is_last = i + 1 == filters_.size();
    const ByteSpan next = is_last ? out : scratch_[(i + 1) % 2].span().first(out.size());
    Undo(filters_[i], block, next);
    block = next;
  }
  return has_delta_ ? UndoDelta(offset, out) : model::Result<void>();
}

model::Result<void> Blosc2Chunk::DecodeStreams(uint64_t offset, ByteSpan block) const {
  const uint64_t index = offset / block_size_;
  const uint64_t count = (decoded_size_ - 1) / block_size_ + 1;
  const auto begin = LoadLittle<uint32_t>(&bytes_[kExtendedHeader + index * kBlockStart]);
  if (begin < kExtendedHeader + count * kBlockStart || begin > bytes_.size()) {
    return model::Corrupt("block {} begins at byte {} of {}", index, begin, bytes_.size());
  }
  // The last block, if it is smaller, is never split.
  const bool is_split = (flags_ & kIsOneStream) == 0 && block.size() == block_size_;
  const size_t streams = is_split ? element_size_ : 1;
  if (block.size() % streams != 0) {
    return model::Corrupt("a block of {} bytes in {} streams", block.size(), streams);
  }
  const size_t stream_size = block.size() / streams;
  ConstByteSpan encoded = bytes_.subspan(begin);
  for (; !block.empty(); block = block.subspan(stream_size)) {
    const ByteSpan stream = block.first(stream_size);
    if (encoded.size() < sizeof(int32_t)) return model::Corrupt("block {}: truncated", index);
    const auto size = LoadLittle<int32_t>(encoded.data());
    encoded = encoded.subspan(sizeof(int32_t));
    const size_t length = size < 0 ? 1 : static_cast<size_t>(size);
    if (encoded.size() < length) return model::Corrupt("block {}: truncated", index);
    if (size <= 0) {
      std::byte value{};
      if (size < 0) {
        NDLFS_TRY(value, RepeatedByte(size, encoded[0]));
      }
      std::fill(stream.begin(), stream.end(), value);
    } else if (length == stream_size) {
      std::memcpy(stream.data(), encoded.data(), length);
    } else if (!DecodeBloscStream(compressor_, encoded.first(length), stream)) {
      return model::Corrupt("block {}: invalid data", index);
    }
    encoded = encoded.subspan(length);
  }
  return {};
}

void Blosc2Chunk::Undo(const Filter& filter, ConstByteSpan from, ByteSpan to) {
  if (!filter.is_bitwise) return Unshuffle(from, filter.element_size, to.data());
  constexpr size_t kGroup = 8;  // elements whose bits fill whole bytes
  const size_t count = from.size() / filter.element_size / kGroup * kGroup;
  const size_t shuffled = count * filter.element_size;
  if (planes_.empty()) planes_ = Bytes(block_size_);
  if (count != 0) {
    BitUnshuffle(from.data(), count, filter.element_size, planes_.data(), to.data());
  }
  if (shuffled < from.size()) {
    std::memcpy(to.data() + shuffled, from.data() + shuffled, from.size() - shuffled);
  }
}

// The first block has differences from one element to the next, and the others from the first
// block, both by "exclusive or".
model::Result<void> Blosc2Chunk::UndoDelta(uint64_t offset, ByteSpan block) {
  const size_t width = DeltaWidth(element_size_);
  if (block.size() % width != 0) {
    return model::Unsupported("filter delta of {} bytes as numbers of {}", block.size(), width);
  }
  if (offset == 0) {
    for (size_t i = width; i < block.size(); ++i) block[i] ^= block[i - width];
    return {};
  }
  if (reference_.empty()) {
    Bytes first(block_size_);
    NDLFS_RETURN_IF_ERROR(Decode(0, first.span()));
    reference_ = std::move(first);
  }
  for (size_t i = 0; i < block.size(); ++i) block[i] ^= reference_.data()[i];
  return {};
}

}  // namespace ndlfs::backends
