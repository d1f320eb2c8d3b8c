// SPDX-License-Identifier: MIT
//
// The header is MessagePack with all numbers in their longest form, so that each field has its
// place. Only the metalayers at its end differ in length.
#include "backends/codec/stream/blosc2_frame.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "backends/codec/little_endian.h"

namespace ndlfs::backends {
namespace {

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

}  // namespace

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

}  // namespace ndlfs::backends
