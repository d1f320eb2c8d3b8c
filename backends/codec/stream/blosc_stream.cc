// SPDX-License-Identifier: MIT
//
// README_CHUNK_FORMAT.rst of c-blosc 1.21. A block is one stream, or one for each byte of an
// element. Each stream begins with its length. If it is as long as its decoded bytes, it is
// stored without compression.
#include "backends/codec/stream/blosc_stream.h"

#include <blosc.h>
#include <libdeflate.h>
#include <lz4.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "backends/codec/little_endian.h"
#include "backends/codec/stream/deflate.h"
#include "backends/codec/stream/zstd_context.h"
#include "backends/codec/unshuffle.h"

namespace ndlfs::backends {
namespace {

bool DecodeLz4Stream(ConstByteSpan encoded, ByteSpan stream) {
  if (encoded.size() > INT_MAX || stream.size() > INT_MAX) return false;
  const int size = LZ4_decompress_safe(
      reinterpret_cast<const char*>(encoded.data()), reinterpret_cast<char*>(stream.data()),
      static_cast<int>(encoded.size()), static_cast<int>(stream.size()));
  return size >= 0 && static_cast<size_t>(size) == stream.size();
}

bool DecodeZlibStream(ConstByteSpan encoded, ByteSpan stream) {
  libdeflate_decompressor* context = DeflateContext();
  return context &&
         libdeflate_zlib_decompress(context, encoded.data(), encoded.size(), stream.data(),
                                    stream.size(), nullptr) == LIBDEFLATE_SUCCESS;
}

// c-blosc has no function for a stream of its own compressor. So this makes a container of
// Blosc 1 with one block of one stream.
bool DecodeBloscLzStream(ConstByteSpan encoded, ByteSpan stream) {
  constexpr size_t kBefore = BLOSC_MIN_HEADER_LENGTH + 2 * sizeof(uint32_t);
  constexpr uint8_t kOneStream = 0x10;
  if (encoded.size() > BLOSC_MAX_BUFFERSIZE - kBefore || stream.size() > BLOSC_MAX_BUFFERSIZE) {
    return false;
  }
  Bytes container(kBefore + encoded.size());
  std::byte* const at = container.data();
  const uint8_t head[] = {BLOSC_VERSION_FORMAT, BLOSC_BLOSCLZ_VERSION_FORMAT, kOneStream, 1};
  std::memcpy(at, head, sizeof(head));
  StoreLittle(static_cast<uint32_t>(stream.size()), at + 4);
  StoreLittle(static_cast<uint32_t>(stream.size()), at + 8);  // of a block
  StoreLittle(static_cast<uint32_t>(container.size()), at + 12);
  StoreLittle(static_cast<uint32_t>(BLOSC_MIN_HEADER_LENGTH + sizeof(uint32_t)), at + 16);
  StoreLittle(static_cast<uint32_t>(encoded.size()), at + 20);
  std::memcpy(at + kBefore, encoded.data(), encoded.size());
  const int size = blosc_decompress_ctx(at, stream.data(), stream.size(), 1);
  return size >= 0 && static_cast<size_t>(size) == stream.size();
}

constexpr size_t kHeaderSize = 16;
constexpr size_t kOffsetSize = 4;  // of an entry of the table of blocks, and of a length
constexpr uint8_t kFormatVersion = 2;
constexpr uint8_t kCodecVersion = 1;

// Flags. Those in the highest three bits are the compressor.
constexpr unsigned kByteShuffle = 0x01;
constexpr unsigned kNotSplit = 0x10;
constexpr unsigned kKnownFlags = kByteShuffle | kNotSplit;

// Blocks are split only for elements of so many bytes at most, if each stream has so many.
constexpr size_t kMostStreams = 16;
constexpr size_t kLeastStreamBytes = 128;

class BlockDecoder {
 public:
  BlockDecoder(ConstByteSpan container, ByteSpan decoded)
      : container_(container),
        decoded_(decoded),
        flags_(std::to_integer<unsigned>(container[2])),
        element_size_(std::to_integer<size_t>(container[3])),
        block_size_(LoadLittle<uint32_t>(&container[8])),
        compressor_(static_cast<BloscCompressor>(flags_ >> kBloscCompressorShift)) {}

  bool Decode() {
    if (!IsOfKnownKind()) return false;
    const uint64_t count = (decoded_.size() - 1) / block_size_ + 1;
    const uint64_t table_end = kHeaderSize + count * kOffsetSize;
    if (table_end > container_.size()) return false;
    if (is_shuffled()) scratch_ = Bytes(block_size_);
    for (uint64_t i = 0; i < count; ++i) {
      const auto begin = LoadLittle<uint32_t>(&container_[kHeaderSize + i * kOffsetSize]);
      if (begin < table_end || begin > container_.size()) return false;
      const uint64_t at = i * block_size_;
      const uint64_t size = std::min<uint64_t>(block_size_, decoded_.size() - at);
      if (!DecodeBlock(container_.subspan(begin), decoded_.subspan(at, size))) return false;
    }
    return true;
  }

 private:
  bool is_shuffled() const { return (flags_ & kByteShuffle) != 0 && element_size_ > 1; }

  bool IsOfKnownKind() const {
    constexpr unsigned kCompressorBits = ~((1u << kBloscCompressorShift) - 1);
    return std::to_integer<uint8_t>(container_[0]) == kFormatVersion &&
           std::to_integer<uint8_t>(container_[1]) == kCodecVersion && block_size_ != 0 &&
           block_size_ <= decoded_.size() && element_size_ != 0 &&
           (flags_ & ~(kKnownFlags | kCompressorBits)) == 0 &&
           (compressor_ == BloscCompressor::kLz4 || compressor_ == BloscCompressor::kZstd);
  }

  bool DecodeBlock(ConstByteSpan encoded, ByteSpan block) {
    const ByteSpan streams = is_shuffled() ? scratch_.span().first(block.size()) : block;
    // The last block, if it is smaller, is never split.
    const bool is_split = (flags_ & kNotSplit) == 0 && element_size_ <= kMostStreams &&
                          block_size_ / element_size_ >= kLeastStreamBytes &&
                          block.size() == block_size_;
    const size_t count = is_split ? element_size_ : 1;
    if (block.size() % count != 0) return false;
    const size_t size = block.size() / count;
    for (size_t i = 0; i < count; ++i) {
      if (encoded.size() < kOffsetSize) return false;
      const auto length = LoadLittle<uint32_t>(encoded.data());
      encoded = encoded.subspan(kOffsetSize);
      if (length == 0 || length > encoded.size()) return false;
      if (!DecodeStream(encoded.first(length), streams.subspan(i * size, size))) return false;
      encoded = encoded.subspan(length);
    }
    if (is_shuffled()) Unshuffle(streams, element_size_, block.data());
    return true;
  }

  bool DecodeStream(ConstByteSpan encoded, ByteSpan stream) const {
    if (encoded.size() == stream.size()) {
      std::memcpy(stream.data(), encoded.data(), stream.size());
      return true;
    }
    return DecodeBloscStream(compressor_, encoded, stream);
  }

  const ConstByteSpan container_;
  const ByteSpan decoded_;
  const unsigned flags_;
  const size_t element_size_;
  const uint64_t block_size_;
  const BloscCompressor compressor_;
  Bytes scratch_;  // of a shuffled block
};

}  // namespace

bool DecodeBloscStream(BloscCompressor compressor, ConstByteSpan encoded, ByteSpan stream) {
  switch (compressor) {
    case BloscCompressor::kBloscLz:
      return DecodeBloscLzStream(encoded, stream);
    case BloscCompressor::kLz4:
      return DecodeLz4Stream(encoded, stream);
    case BloscCompressor::kZlib:
      return DecodeZlibStream(encoded, stream);
    case BloscCompressor::kZstd: {
      const auto size = DecodeZstd(encoded, stream);
      return size && *size == stream.size();
    }
  }
  return false;
}

bool DecodeBloscBlocks(ConstByteSpan container, ByteSpan decoded) {
  if (container.size() < kHeaderSize) return false;
  return BlockDecoder(container, decoded).Decode();
}

}  // namespace ndlfs::backends
