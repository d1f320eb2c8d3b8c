// SPDX-License-Identifier: MIT
//
// HDF5 filter 32026: a contiguous frame of Blosc 2 with one chunk or several. With the B2ND
// metalayer the elements are not in C order, but in blocks of several dimensions. Decoding
// needs nothing but the frame; the client data is for encoding only.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/base/checked.h"
#include "backends/codec/factories.h"
#include "backends/codec/little_endian.h"
#include "backends/codec/stream/blosc2_chunk.h"
#include "model/error.h"

namespace ndlfs::backends {
namespace {

// The header is MessagePack with all numbers in their longest form, so that each field has its
// place. Only the metalayers at its end differ in length.

// The header of a contiguous frame of Blosc 2 (README_CFRAME_FORMAT of c-blosc2).
struct Blosc2Frame {
  // The B2ND metalayer: an array in a grid of chunks, which are in a grid of blocks each. Edges
  // are padded. All have the same rank, and no extent of `chunk` and `block` is 0.
  struct Grid {
    std::vector<uint64_t> shape;
    std::vector<uint64_t> chunk;
    std::vector<uint64_t> block;  // not larger than `chunk`
  };

  ConstByteSpan chunks;  // the chunks, one after the other
  ConstByteSpan index;   // what comes after them: the chunk of their offsets, and the trailer
  uint64_t decoded_size = 0;  // of all chunks, in bytes
  uint64_t chunk_size = 0;    // of each chunk decoded; the last one may be smaller
  uint64_t element_size = 0;  // not 0
  std::optional<Grid> grid;
};

// Types of MessagePack.
enum class Marker : uint8_t {
  kArray = 0x90,  // with the number of elements in the low 4 bits
  kText = 0xa0,   // with the length in the low 5 bits
  kBin32 = 0xc6,
  kUint16 = 0xcd,
  kUint64 = 0xcf,
  kInt16 = 0xd1,
  kInt32 = 0xd2,
  kInt64 = 0xd3,
  kExtension16 = 0xd8,
  kArray16 = 0xdc,
  kMap16 = 0xde,
};

constexpr std::string_view kFrameMagic = std::string_view("b2frame\0", 8);
constexpr unsigned kFrameVersion = 2;
constexpr unsigned kOffsetsOf64Bits = 1;

// Reads MessagePack from the beginning of `bytes`. After a failure all further reads give
// zeros, so that callers ask once, at the end.
class Unpacker {
 public:
  explicit Unpacker(ConstByteSpan bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  ConstByteSpan Take(size_t size) {
    if (!ok_ || size > bytes_.size()) {
      ok_ = false;
      return {};
    }
    const ConstByteSpan taken = bytes_.first(size);
    bytes_ = bytes_.subspan(size);
    return taken;
  }
  uint8_t Byte() {
    const ConstByteSpan byte = Take(1);
    return ok_ ? std::to_integer<uint8_t>(byte[0]) : 0;
  }
  void Expect(Marker marker) { ok_ = Byte() == static_cast<uint8_t>(marker) && ok_; }
  // A marker with a number in its low bits.
  unsigned Low(Marker marker, unsigned bits) {
    const unsigned byte = Byte();
    ok_ = ok_ && byte >> bits == static_cast<unsigned>(marker) >> bits;
    return ok_ ? byte & ((1u << bits) - 1) : 0;
  }
  // An integer of the type T after its marker; no number here is negative.
  template <typename T>
  uint64_t Number(Marker marker) {
    Expect(marker);
    return Raw<T>();
  }
  template <typename T>
  uint64_t Raw() {
    const ConstByteSpan bytes = Take(sizeof(T));
    if (!ok_) return 0;
    const T value = LoadBig<T>(bytes.data());
    ok_ = value <= static_cast<T>(-1) / 2;
    return ok_ ? value : 0;
  }

 private:
  ConstByteSpan bytes_;
  bool ok_ = true;
};

std::vector<uint64_t> TakeShape(Unpacker& from, bool is_wide) {
  std::vector<uint64_t> shape(from.Low(Marker::kArray, 4));
  for (uint64_t& extent : shape) {
    extent =
        is_wide ? from.Number<uint64_t>(Marker::kInt64) : from.Number<uint32_t>(Marker::kInt32);
  }
  return shape;
}

// README_B2ND_METALAYER. The type of the elements is at the end; the array has its own.
model::Result<Blosc2Frame::Grid> ReadGrid(ConstByteSpan content) {
  Unpacker from(content);
  const unsigned fields = from.Low(Marker::kArray, 4);
  const unsigned version = from.Byte();
  const unsigned rank = from.Byte();
  Blosc2Frame::Grid grid;
  grid.shape = TakeShape(from, true);
  grid.chunk = TakeShape(from, false);
  grid.block = TakeShape(from, false);
  if (!from.ok() || fields < 5 || grid.shape.size() != rank || grid.chunk.size() != rank ||
      grid.block.size() != rank) {
    return model::Corrupt("invalid metalayer b2nd of version {}", version);
  }
  for (size_t i = 0; i < rank; ++i) {
    if (grid.block[i] == 0 || grid.block[i] > grid.chunk[i]) {
      return model::Corrupt("blocks of {} in chunks of {}", grid.block[i], grid.chunk[i]);
    }
  }
  return grid;
}

// The metalayers: a map of names to places in the header. Others than b2nd may say that the
// elements are in another order.
model::Result<std::optional<Blosc2Frame::Grid>> ReadMetalayers(ConstByteSpan header,
                                                               Unpacker& from) {
  from.Low(Marker::kArray, 4);
  from.Number<uint16_t>(Marker::kUint16);
  const uint64_t count = from.Number<uint16_t>(Marker::kMap16);
  std::optional<Blosc2Frame::Grid> grid;
  for (uint64_t i = 0; i < count && from.ok(); ++i) {
    const std::string_view name = AsText(from.Take(from.Low(Marker::kText, 5)));
    const uint64_t place = from.Number<uint32_t>(Marker::kInt32);
    if (!from.ok()) break;
    if (name != "b2nd") return model::Unsupported("metalayer {}", model::Quote(name));
    if (place > header.size()) return model::Corrupt("a metalayer at byte {}", place);
    Unpacker value(header.subspan(place));
    const uint64_t size = value.Number<uint32_t>(Marker::kBin32);
    const ConstByteSpan content = value.Take(size);
    if (!value.ok()) return model::Corrupt("a metalayer of {} bytes", size);
    NDLFS_TRY(grid, ReadGrid(content));
  }
  if (!from.ok()) return model::Corrupt("invalid metalayers");
  return grid;
}

struct FrameFlags {
  unsigned general;
  unsigned kind;
};

model::Result<void> CheckFlags(const FrameFlags& flags) {
  if ((flags.general & 15) != kFrameVersion) {
    return model::Unsupported("a frame of version {}", flags.general & 15);
  }
  if (flags.general >> 4 != kOffsetsOf64Bits || flags.kind != 0) {
    return model::Unsupported("a frame of the kind 0x{:02x}, 0x{:02x}", flags.general,
                              flags.kind);
  }
  return {};
}

model::Result<void> CheckSizes(const Blosc2Frame& frame) {
  if (frame.element_size == 0) return model::Corrupt("elements of 0 bytes");
  if (frame.decoded_size != 0 && frame.chunk_size == 0) {
    return model::Unsupported("chunks of different sizes");
  }
  return {};
}

// Reads the header at the beginning of `bytes`, which may have more after the frame. The result
// refers to `bytes`.
model::Result<Blosc2Frame> ReadBlosc2Frame(ConstByteSpan bytes) {
  Unpacker from(bytes);
  from.Low(Marker::kArray, 4);
  from.Low(Marker::kText, 5);
  if (AsText(from.Take(kFrameMagic.size())) != kFrameMagic) {
    return model::Corrupt("not a frame of Blosc 2");
  }
  const uint64_t header_size = from.Number<uint32_t>(Marker::kInt32);
  const uint64_t frame_size = from.Number<uint64_t>(Marker::kUint64);
  from.Low(Marker::kText, 5);
  const ConstByteSpan flags = from.Take(4);
  Blosc2Frame frame;
  frame.decoded_size = from.Number<uint64_t>(Marker::kInt64);
  const uint64_t chunks_size = from.Number<uint64_t>(Marker::kInt64);
  frame.element_size = from.Number<uint32_t>(Marker::kInt32);
  from.Number<uint32_t>(Marker::kInt32);  // of a block; chunks say it
  frame.chunk_size = from.Number<uint32_t>(Marker::kInt32);
  from.Number<uint16_t>(Marker::kInt16);  // threads for encoding
  from.Number<uint16_t>(Marker::kInt16);  // and decoding
  from.Byte();                            // whether the trailer has metadata
  from.Expect(Marker::kExtension16);
  from.Take(17);  // filters; chunks say them
  if (!from.ok()) return model::Corrupt("invalid header");
  NDLFS_RETURN_IF_ERROR(
      CheckFlags({std::to_integer<unsigned>(flags[0]), std::to_integer<unsigned>(flags[1])}));
  if (frame_size > bytes.size()) {
    return model::Corrupt("{} bytes, the header says {}", bytes.size(), frame_size);
  }
  if (header_size > frame_size || chunks_size > frame_size - header_size) {
    return model::Corrupt("a header of {} bytes and chunks of {} in {}", header_size,
                          chunks_size, frame_size);
  }
  NDLFS_RETURN_IF_ERROR(CheckSizes(frame));
  frame.chunks = bytes.subspan(header_size, chunks_size);
  frame.index = bytes.first(frame_size).subspan(header_size + chunks_size);
  NDLFS_TRY(frame.grid, ReadMetalayers(bytes.first(header_size), from));
  return frame;
}

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
