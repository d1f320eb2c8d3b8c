// SPDX-License-Identifier: MIT
#include "backends/codec/stream/zfp_stream.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "backends/base/checked.h"

namespace ndlfs::backends {
namespace {

// The edge of a block, and the values in a block of four dimensions.
constexpr uint64_t kEdge = 4;
constexpr size_t kMaxValues = 256;

// An upper bound for the bits of a block, unless minbits is larger: for each of at
// most 64 bit planes one bit for each value and one more, two bits for each value
// that becomes significant, and the header of the block.
constexpr uint64_t kMaxBlockBits = 64 * (kMaxValues + 1) + 2 * kMaxValues + 64;
// The largest minbits that a header can express.
constexpr unsigned kMaxMinBits = 0x8000;

struct CloseBitStream {
  void operator()(bitstream* stream) const { ::stream_close(stream); }
};

// A copy of `bytes` for the library to read, with at least `slack` zero bits
// after it.
class BitStream {
 public:
  BitStream(ConstByteSpan bytes, uint64_t slack)
      : end_(bytes.size() * 8), memory_(MemorySize(bytes.size(), slack)) {
    if (!bytes.empty()) std::memcpy(memory_.data(), bytes.data(), bytes.size());
    std::memset(memory_.data() + bytes.size(), 0, memory_.size() - bytes.size());
    stream_.reset(::stream_open(memory_.data(), memory_.size()));
  }

  bitstream* get() const { return stream_.get(); }
  void Seek(uint64_t bit) { ::stream_rseek(get(), bit); }
  bool IsPastEnd() const { return ::stream_rtell(get()) > end_; }

 private:
  static constexpr size_t kWord = sizeof(uint64_t);
  // Whole words, and one more that seeking may read.
  static size_t MemorySize(size_t bytes, uint64_t slack) {
    return (bytes / kWord + slack / 64 + 3) * kWord;
  }

  const uint64_t end_;
  Bytes memory_;
  std::unique_ptr<bitstream, CloseBitStream> stream_;
};

model::Failure NoMemory() { return model::Limit("not enough memory for a decompressor"); }

// Decodes the next block. A block of less than four dimensions fills the beginning
// of the memory.
template <typename T>
using ZfpBlockDecoder = size_t (*)(zfp_stream*, T*);

template <typename T>
constexpr std::array<ZfpBlockDecoder<T>, 4> kBlockDecoders = {};
template <>
constexpr std::array<ZfpBlockDecoder<int32_t>, 4> kBlockDecoders<int32_t> = {
    zfp_decode_block_int32_1, zfp_decode_block_int32_2, zfp_decode_block_int32_3,
    zfp_decode_block_int32_4};
template <>
constexpr std::array<ZfpBlockDecoder<int64_t>, 4> kBlockDecoders<int64_t> = {
    zfp_decode_block_int64_1, zfp_decode_block_int64_2, zfp_decode_block_int64_3,
    zfp_decode_block_int64_4};
template <>
constexpr std::array<ZfpBlockDecoder<float>, 4> kBlockDecoders<float> = {
    zfp_decode_block_float_1, zfp_decode_block_float_2, zfp_decode_block_float_3,
    zfp_decode_block_float_4};
template <>
constexpr std::array<ZfpBlockDecoder<double>, 4> kBlockDecoders<double> = {
    zfp_decode_block_double_1, zfp_decode_block_double_2, zfp_decode_block_double_3,
    zfp_decode_block_double_4};

// Extents, the fastest first; 1 for missing dimensions.
using Extents = std::array<uint64_t, 4>;

Extents ExtentsOf(const zfp_field& field) {
  const auto present = [](size_t extent) { return std::max<uint64_t>(extent, 1); };
  return {present(field.nx), present(field.ny), present(field.nz), present(field.nw)};
}

// Copies the part of the block at `begin` that lies within the array.
template <typename T>
void CopyBlock(const T* block, const Extents& begin, const Extents& extents, std::byte* to) {
  Extents count;
  for (size_t i = 0; i < 4; ++i) count[i] = std::min(kEdge, extents[i] - begin[i]);
  for (uint64_t w = 0; w < count[3]; ++w) {
    for (uint64_t z = 0; z < count[2]; ++z) {
      for (uint64_t y = 0; y < count[1]; ++y) {
        const uint64_t plane = (begin[3] + w) * extents[2] + begin[2] + z;
        const uint64_t row = (plane * extents[1] + begin[1] + y) * extents[0] + begin[0];
        std::memcpy(to + row * sizeof(T), block + ((w * kEdge + z) * kEdge + y) * kEdge,
                    count[0] * sizeof(T));
      }
    }
  }
}

// Advances `begin` to the origin of the next block; false after the last one.
bool NextBlock(Extents& begin, const Extents& extents) {
  for (size_t i = 0; i < 4; ++i) {
    begin[i] += kEdge;
    if (begin[i] < extents[i]) return true;
    begin[i] = 0;
  }
  return false;
}

template <typename T>
model::Result<void> DecodeBlocks(const zfp_field& field, zfp_stream& parameters,
                                 const BitStream& stream, std::byte* to) {
  const ZfpBlockDecoder<T> decode = kBlockDecoders<T>[zfp_field_dimensionality(&field) - 1];
  const Extents extents = ExtentsOf(field);
  std::array<T, kMaxValues> block;
  Extents begin = {};
  do {
    decode(&parameters, block.data());
    if (stream.IsPastEnd()) return model::Corrupt("truncated data");
    CopyBlock(block.data(), begin, extents, to);
  } while (NextBlock(begin, extents));
  return {};
}

// The bits of the header of a block; see zfp_stream_maximum_size().
unsigned BlockHeaderBits(zfp_type type, bool is_reversible) {
  switch (type) {
    case zfp_type_int32:
      return is_reversible ? 5 : 0;
    case zfp_type_int64:
      return is_reversible ? 6 : 0;
    case zfp_type_float:
      return is_reversible ? 1 + 1 + 8 + 5 : 1 + 8;
    default:
      return is_reversible ? 1 + 1 + 11 + 6 : 1 + 11;
  }
}

}  // namespace

zfp_field MakeZfpField(zfp_type type, std::span<const uint64_t> shape) {
  zfp_field field = {};
  field.type = type;
  field.nx = 1;
  const std::array extents = {&field.nx, &field.ny, &field.nz, &field.nw};
  for (size_t i = 0; i < shape.size() && i < extents.size(); ++i) {
    *extents[i] = shape[shape.size() - 1 - i];
  }
  return field;
}

zfp_stream DefaultZfpParameters() {
  zfp_stream parameters = {};
  parameters.minbits = ZFP_MIN_BITS;
  parameters.maxbits = ZFP_MAX_BITS;
  parameters.maxprec = ZFP_MAX_PREC;
  parameters.minexp = ZFP_MIN_EXP;
  return parameters;
}

model::Result<void> CheckZfpParameters(const zfp_stream& parameters, zfp_type type) {
  const unsigned least = BlockHeaderBits(type, parameters.minexp < ZFP_MIN_EXP);
  if (parameters.maxbits < least || parameters.minbits > kMaxMinBits) {
    return model::BadInput("blocks of {} to {} bits", parameters.minbits, parameters.maxbits);
  }
  return {};
}

model::Result<ZfpHeader> ReadZfpHeader(ConstByteSpan encoded) {
  const ConstByteSpan front = encoded.first(std::min<size_t>(encoded.size(), 32));
  const BitStream stream(front, ZFP_HEADER_MAX_BITS);
  if (!stream.get()) return NoMemory();
  ZfpHeader header = {{}, DefaultZfpParameters(), 0};
  header.parameters.stream = stream.get();
  header.bits = zfp_read_header(&header.parameters, &header.field, ZFP_HEADER_FULL);
  header.parameters.stream = nullptr;
  if (header.bits == 0 || header.bits > front.size() * 8) {
    return model::Corrupt("no zfp header of version {}", ZFP_CODEC);
  }
  if (const auto status = CheckZfpParameters(header.parameters, header.field.type); !status) {
    return model::Corrupt("{}", status.error().message());
  }
  return header;
}

uint64_t MaxZfpSize(const zfp_field& field, const zfp_stream& parameters) {
  // With more elements the library's arithmetic would overflow.
  constexpr uint64_t kMaxElements = uint64_t{1} << 40;
  if (CheckedProduct(ExtentsOf(field)).value_or(UINT64_MAX) > kMaxElements) return kMaxViewSize;
  return zfp_stream_maximum_size(&parameters, &field) + sizeof(uint64_t);
}

uint64_t ZfpFieldBytes(const zfp_field& field) {
  return zfp_field_size(&field, nullptr) * zfp_type_size(field.type);
}

model::Result<void> DecodeZfpBlocks(const zfp_field& field, const zfp_stream& parameters,
                                    ConstByteSpan encoded, uint64_t first_bit,
                                    ByteSpan decoded) {
  if (decoded.empty()) return {};
  // Every block has at least minbits bits. Checking that all of them fit bounds
  // minbits, and so the memory for one more block.
  const uint64_t available = encoded.size() * 8 - first_bit;
  if (parameters.minbits > available / zfp_field_blocks(&field)) {
    return model::Corrupt("truncated data");
  }
  BitStream stream(encoded, std::max<uint64_t>(kMaxBlockBits, parameters.minbits));
  if (!stream.get()) return NoMemory();
  stream.Seek(first_bit);
  zfp_stream reader = parameters;
  reader.stream = stream.get();
  switch (field.type) {
    case zfp_type_int32:
      return DecodeBlocks<int32_t>(field, reader, stream, decoded.data());
    case zfp_type_int64:
      return DecodeBlocks<int64_t>(field, reader, stream, decoded.data());
    case zfp_type_float:
      return DecodeBlocks<float>(field, reader, stream, decoded.data());
    default:
      return DecodeBlocks<double>(field, reader, stream, decoded.data());
  }
}

}  // namespace ndlfs::backends
