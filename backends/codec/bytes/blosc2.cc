// SPDX-License-Identifier: MIT
//
// HDF5 filter 32026: a contiguous frame of Blosc 2 with one chunk or several. With the B2ND
// metalayer the elements are not in C order, but in blocks of several dimensions. Decoding
// needs nothing but the frame; the client data is for encoding only.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "backends/codec/factories.h"
#include "backends/codec/little_endian.h"
#include "backends/codec/stream/blosc2_chunk.h"
#include "backends/codec/stream/blosc2_frame.h"

namespace ndlfs::backends {
namespace {

using Shape = std::vector<uint64_t>;

constexpr size_t kOffsetOfChunk = 8;
// Offsets without a chunk: the highest bit, and a kind in the same byte.
constexpr uint64_t kOffsetIsZeros = 0x81, kOffsetIsNan = 0x82, kOffsetIsUninitialized = 0x84;

uint64_t DivideUp(uint64_t value, uint64_t by) {
  return value / by + (value % by != 0 ? 1 : 0);
}

// A chunk without bytes, such as one of zeros: the header that Blosc2Chunk reads.
std::vector<std::byte> MakeConstantChunk(uint64_t size, uint64_t element_size, unsigned kind) {
  std::vector<std::byte> chunk(32);
  chunk[0] = std::byte{5};
  chunk[2] = std::byte{5};  // extended
  chunk[3] = static_cast<std::byte>(element_size > 255 ? 1 : element_size);
  StoreLittle(static_cast<uint32_t>(size), &chunk[4]);
  StoreLittle(static_cast<uint32_t>(chunk.size()), &chunk[12]);
  chunk[31] = static_cast<std::byte>(kind << 4);
  return chunk;
}

// Moves `at` to the next place below `limits`, in C order. Returns false after the last one.
bool Advance(Shape& at, const Shape& limits) {
  for (size_t i = at.size(); i-- > 0;) {
    if (++at[i] < limits[i]) return true;
    at[i] = 0;
  }
  return false;
}

// Decodes one frame into memory of the caller.
class FrameDecoder {
 public:
  FrameDecoder(const Blosc2Frame& frame, ByteSpan decoded) : frame_(frame), out_(decoded) {}

  // Returns the bytes written.
  model::Result<size_t> Decode() {
    NDLFS_TRY(const uint64_t size, Size());
    if (size > out_.size()) {
      return model::Corrupt("decodes to {} bytes, expected at most {}", size, out_.size());
    }
    out_ = out_.first(size);
    if (size == 0) return 0;
    const uint64_t count = DivideUp(frame_.decoded_size, frame_.chunk_size);
    NDLFS_RETURN_IF_ERROR(ReadIndex(count));
    if (frame_.grid) {
      NDLFS_RETURN_IF_ERROR(DecodeGrid(*frame_.grid, count));
    } else {
      for (uint64_t i = 0; i < count; ++i) {
        NDLFS_RETURN_IF_ERROR(DecodeFlat(i));
      }
    }
    return size;
  }

 private:
  model::Result<uint64_t> Size() const {
    if (!frame_.grid) return frame_.decoded_size;
    const auto size = CheckedProduct(frame_.grid->shape, frame_.element_size);
    if (!size) return model::Corrupt("the shape overflows");
    return *size;
  }

  model::Result<void> ReadIndex(uint64_t count) {
    constexpr uint64_t kAlways = 64 << 10;
    if (count > (out_.size() + kAlways) / kOffsetOfChunk) {
      return model::Corrupt("{} chunks in {} bytes", count, out_.size());
    }
    NDLFS_TRY(Blosc2Chunk chunk, Blosc2Chunk::Open(frame_.index), "offsets");
    if (chunk.decoded_size() != count * kOffsetOfChunk) {
      return model::Corrupt("offsets of {} bytes, expected {}", chunk.decoded_size(),
                            count * kOffsetOfChunk);
    }
    offsets_ = Bytes(chunk.decoded_size());
    return DecodeWhole(chunk, offsets_.span());
  }

  static model::Result<void> DecodeWhole(Blosc2Chunk& chunk, ByteSpan out) {
    const uint64_t step = chunk.is_constant() ? out.size() : chunk.block_size();
    for (uint64_t at = 0; at < out.size(); at += step) {
      NDLFS_RETURN_IF_ERROR(chunk.Decode(at, out.subspan(at, std::min(step, out.size() - at))));
    }
    return {};
  }

  // Opens chunk `index`, which decodes to `size` bytes.
  model::Result<Blosc2Chunk> OpenChunk(uint64_t index, uint64_t size) {
    const auto offset = LoadLittle<uint64_t>(offsets_.data() + index * kOffsetOfChunk);
    ConstByteSpan bytes;
    if (offset >> 63 != 0) {
      const uint64_t kind = offset >> 56;
      if (kind != kOffsetIsZeros && kind != kOffsetIsNan && kind != kOffsetIsUninitialized) {
        return model::Unsupported("chunk {} of the unknown kind 0x{:02x}", index, kind);
      }
      constant_ =
          MakeConstantChunk(size, frame_.element_size, static_cast<unsigned>(kind & 0x7f));
      bytes = constant_;
    } else if (offset > frame_.chunks.size()) {
      return model::Corrupt("chunk {} at byte {} of {}", index, offset, frame_.chunks.size());
    } else {
      bytes = frame_.chunks.subspan(offset);
    }
    NDLFS_TRY(Blosc2Chunk chunk, Blosc2Chunk::Open(bytes));
    if (chunk.decoded_size() == size) return chunk;
    return model::Corrupt("chunk {} of {} bytes, expected {}", index, chunk.decoded_size(),
                          size);
  }

  model::Result<void> DecodeFlat(uint64_t index) {
    const uint64_t begin = index * frame_.chunk_size;
    const ByteSpan out = out_.subspan(begin, std::min(frame_.chunk_size, out_.size() - begin));
    NDLFS_TRY(Blosc2Chunk chunk, OpenChunk(index, out.size()));
    return DecodeWhole(chunk, out);
  }

  model::Result<void> DecodeGrid(const Blosc2Frame::Grid& grid, uint64_t count) {
    const size_t rank = grid.shape.size();
    Shape chunks(rank), padded(rank);
    for (size_t i = 0; i < rank; ++i) {
      chunks[i] = DivideUp(grid.shape[i], grid.chunk[i]);
      padded[i] = DivideUp(grid.chunk[i], grid.block[i]) * grid.block[i];
    }
    if (CheckedProduct(chunks) != count ||
        CheckedProduct(padded, frame_.element_size) != frame_.chunk_size) {
      return model::Corrupt("{} chunks of {} bytes, which the shapes contradict", count,
                            frame_.chunk_size);
    }
    const auto block_size = CheckedProduct(grid.block, frame_.element_size);
    if (*block_size > EncodedLimit()) {
      return model::Corrupt("blocks of {} bytes in an array of {}", *block_size, out_.size());
    }
    block_ = Bytes(*block_size);
    Shape at(rank, 0);
    uint64_t index = 0;
    do {
      NDLFS_TRY(Blosc2Chunk chunk, OpenChunk(index++, frame_.chunk_size));
      NDLFS_RETURN_IF_ERROR(DecodeGridChunk(grid, at, chunk));
    } while (Advance(at, chunks));
    return {};
  }

  // The most bytes of a block: arrays may be smaller than their blocks, but not much.
  uint64_t EncodedLimit() const { return 4 * out_.size() + (64 << 10); }

  model::Result<void> DecodeGridChunk(const Blosc2Frame::Grid& grid, const Shape& at,
                                      Blosc2Chunk& chunk) {
    if (!chunk.is_constant() && chunk.block_size() != block_.size()) {
      return model::Corrupt("blocks of {} bytes, the metalayer says {}", chunk.block_size(),
                            block_.size());
    }
    const size_t rank = at.size();
    Shape begin(rank), end(rank), blocks(rank), stored_blocks(rank);
    for (size_t i = 0; i < rank; ++i) {
      begin[i] = at[i] * grid.chunk[i];
      end[i] = std::min(begin[i] + grid.chunk[i], grid.shape[i]);
      blocks[i] = DivideUp(end[i] - begin[i], grid.block[i]);
      stored_blocks[i] = DivideUp(grid.chunk[i], grid.block[i]);
    }
    Shape block(rank, 0), from(rank), to(rank);
    do {  // blocks outside of the array are not decoded
      uint64_t number = 0;
      for (size_t i = 0; i < rank; ++i) {
        number = number * stored_blocks[i] + block[i];
        from[i] = begin[i] + block[i] * grid.block[i];
        to[i] = std::min(from[i] + grid.block[i], end[i]);
      }
      NDLFS_RETURN_IF_ERROR(chunk.Decode(number * block_.size(), block_.span()));
      Scatter(grid, from, to);
    } while (Advance(block, blocks));
    return {};
  }

  // Copies the elements of the block from `from` up to `to` to their places in the array.
  void Scatter(const Blosc2Frame::Grid& grid, const Shape& from, const Shape& to) {
    const size_t rank = from.size();
    Shape rows(rank);
    for (size_t i = 0; i < rank; ++i) rows[i] = to[i] - from[i];
    const uint64_t row = (rank == 0 ? 1 : rows[rank - 1]) * frame_.element_size;
    if (rank != 0) rows[rank - 1] = 1;
    Shape at(rank, 0);
    do {
      uint64_t source = 0;
      uint64_t target = 0;
      for (size_t i = 0; i < rank; ++i) {
        source = source * grid.block[i] + at[i];
        target = target * grid.shape[i] + from[i] + at[i];
      }
      std::memcpy(out_.data() + target * frame_.element_size,
                  block_.data() + source * frame_.element_size, row);
    } while (Advance(at, rows));
  }

  const Blosc2Frame& frame_;
  ByteSpan out_;
  Bytes offsets_;
  Bytes block_;
  std::vector<std::byte> constant_;
};

class Blosc2Codec final : public BytesToBytesCodec {
 public:
  std::string_view name() const override { return "blosc2"; }
  // Padding to whole blocks may be more than the elements.
  SizeBound EncodedSize(uint64_t decoded_size) const override {
    return {4 * CompressorBound(decoded_size).size, false};
  }

  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    NDLFS_TRY(const Blosc2Frame frame, ReadBlosc2Frame(encoded));
    return FrameDecoder(frame, decoded).Decode();
  }
};

}  // namespace

static CodecResult MakeBlosc2(const CodecConfig&) { return NewCodec<Blosc2Codec>(); }

const CodecEntry kBlosc2Entry = {"", "", "32026", MakeBlosc2, "blosc2"};

}  // namespace ndlfs::backends
