// SPDX-License-Identifier: MIT
//
// Two codecs with the name packbits. That of numcodecs stores bools as bits, the
// first one in the highest bit, after a byte with the number of unused bits in the
// last byte. That of Zarr v3 stores a range of the bits of each number, the first
// number in the lowest bits.
#include <cstring>

#include "backends/codec/factories.h"
#include "backends/codec/number_type.h"
#include "backends/codec/stream/low_bit_reader.h"

namespace ndlfs::backends {
namespace {

// The bytes that `bits` bits take.
uint64_t BytesOfBits(uint64_t bits) { return bits / 8 + (bits % 8 ? 1 : 0); }

// --- numcodecs ---

// Unpacks `size` bools.
void UnpackBools(const std::byte* from, size_t size, std::byte* to) {
  for (size_t i = 0; i < size; ++i) to[i] = from[i / 8] >> (7 - i % 8) & std::byte{1};
}

// The number of bools in the encoded bytes.
model::Result<size_t> CountBools(ConstByteSpan encoded) {
  if (encoded.empty()) return model::Corrupt("no data");
  const auto padding = std::to_integer<size_t>(encoded[0]);
  const size_t bits = (encoded.size() - 1) * 8;
  if (padding > 7 || padding > bits) {
    return model::Corrupt("{} bytes with {} bits of padding", encoded.size(), padding);
  }
  return bits - padding;
}

class PackedBoolsOfBytes final : public BytesToBytesCodec {
 public:
  std::string_view name() const override { return "packbits"; }
  SizeBound EncodedSize(uint64_t decoded_size) const override {
    return {1 + BytesOfBits(decoded_size), true};
  }
  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    NDLFS_TRY(const size_t count, CountBools(encoded));
    if (count > decoded.size()) return model::Corrupt("decodes to more than expected");
    UnpackBools(encoded.data() + 1, count, decoded.data());
    return count;
  }
};

class PackedBoolsOfArrays final : public ArrayToArrayCodec {
 public:
  std::string_view name() const override { return "packbits"; }
  model::Result<ChunkForm> EncodedForm(const ChunkForm& decoded) const override {
    if (!decoded.dtype.is_bool()) {
      return model::BadInput("made for elements of bool, not {}", decoded.dtype.keyword());
    }
    const auto count = decoded.element_count();
    if (!count) return model::Limit("too many elements");
    return ChunkForm{model::Datatype::Integer(1, false), {1 + BytesOfBits(*count)}};
  }
  model::Result<void> Decode(ConstByteSpan encoded, const ChunkForm&,
                             ByteSpan decoded) const override {
    NDLFS_TRY(const size_t count, CountBools(encoded));
    if (count != decoded.size()) {
      return model::Corrupt("{} elements, expected {}", count, decoded.size());
    }
    UnpackBools(encoded.data() + 1, count, decoded.data());
    return {};
  }
};

// --- Zarr v3 ---

enum class Padding : uint8_t { kNone, kFirstByte, kLastByte };

// The numbers in an element, and the range of their bits that is stored.
struct Packing {
  size_t size = 1;         // bytes of one number
  size_t per_element = 1;  // 2 for complex
  unsigned first_bit = 0;
  unsigned bits = 8;
  bool is_signed = false;
  Padding padding = Padding::kNone;
};

class PackBitsCodec final : public ArrayToBytesCodec {
 public:
  explicit PackBitsCodec(const Packing& packing) : packing_(packing) {}

  std::string_view name() const override { return "packbits"; }

  std::optional<uint64_t> EncodedSize(const ChunkForm& form) const override {
    const auto bits = CheckedMultiply(form.element_count().value_or(UINT64_MAX),
                                      packing_.per_element * packing_.bits);
    if (!bits) return std::nullopt;
    return BytesOfBits(*bits) + (packing_.padding == Padding::kNone ? 0 : 1);
  }

  model::Result<void> Decode(ConstByteSpan encoded, const ChunkForm& form,
                             ByteSpan decoded) const override {
    const auto expected = EncodedSize(form);
    if (!expected || encoded.size() != *expected) {
      return model::Corrupt("{} bytes, expected {}", encoded.size(), expected.value_or(0));
    }
    const uint64_t count = decoded.size() / packing_.size;
    NDLFS_TRY(encoded, TakePadding(encoded, count));
    LowBitReader reader(encoded);
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t value = Extend(reader.Take(packing_.bits) << packing_.first_bit);
      std::memcpy(decoded.data() + i * packing_.size, &value, packing_.size);
    }
    return {};
  }

 private:
  // Returns the bits without the byte with the number of padding bits, which it
  // checks.
  model::Result<ConstByteSpan> TakePadding(ConstByteSpan encoded, uint64_t count) const {
    if (packing_.padding == Padding::kNone) return encoded;
    const bool first = packing_.padding == Padding::kFirstByte;
    const auto found = std::to_integer<uint64_t>(first ? encoded.front() : encoded.back());
    const uint64_t expected = (8 - count * packing_.bits % 8) % 8;
    if (found != expected) {
      return model::Corrupt("{} bits of padding, expected {}", found, expected);
    }
    return first ? encoded.subspan(1) : encoded.first(encoded.size() - 1);
  }

  uint64_t Extend(uint64_t value) const {
    if (!packing_.is_signed) return value;
    const unsigned unused = 64 - packing_.first_bit - packing_.bits;
    return static_cast<uint64_t>(static_cast<int64_t>(value << unused) >> unused);
  }

  const Packing packing_;
};

// The bits of a number type with less than 8.
unsigned BitsOf(const model::Datatype& dtype) {
  if (dtype.is_bool()) return 1;
  const std::string keyword = dtype.keyword();
  if (keyword.starts_with("float4_")) return 4;
  if (keyword.starts_with("float6_")) return 6;
  return static_cast<unsigned>(8 * dtype.size());
}

// Whether `dtype` is a complex number of any float type. Datatype::is_complex()
// only accepts float32 and float64.
bool IsComplex(const model::Datatype& dtype) {
  if (dtype.kind() != model::Datatype::Kind::kCompound || dtype.members().size() != 2) {
    return false;
  }
  const auto& r = dtype.members()[0];
  const auto& i = dtype.members()[1];
  return r.name == "r" && i.name == "i" && r.type.kind() == model::Datatype::Kind::kFloat &&
         r.type.SameLayout(i.type) && dtype.size() == 2 * r.type.size();
}

model::Result<Packing> PackingOf(const model::Datatype& dtype) {
  Packing packing;
  model::Datatype number = dtype;
  if (IsComplex(dtype)) {
    number = dtype.members()[0].type;
    packing.per_element = 2;
  }
  const auto type = NumberTypeOf(number);
  if (!type) return model::BadInput("does not apply to elements of {}", dtype.keyword());
  packing.size = type->size;
  packing.bits = BitsOf(number);
  packing.is_signed = type->kind == NumberType::Kind::kSigned;
  return packing;
}

model::Result<Padding> ParsePadding(const CodecConfig& config) {
  NDLFS_TRY(const auto padding, TextMember(config, "padding_encoding"));
  if (!padding || *padding == "none") return Padding::kNone;
  // Accepts the names of the draft, too.
  if (*padding == "first_byte" || *padding == "start_byte") return Padding::kFirstByte;
  if (*padding == "last_byte" || *padding == "end_byte") return Padding::kLastByte;
  return model::BadInput(
      R"(padding_encoding: expected "none", "first_byte" or "last_byte", found {})",
      model::Quote(*padding));
}

model::Result<Packing> ParsePacking(const CodecConfig& config) {
  NDLFS_TRY(Packing packing, PackingOf(config.form->dtype));
  if (config.bits != 0) packing.bits = config.bits;
  NDLFS_TRY(packing.padding, ParsePadding(config));
  NDLFS_TRY(const auto first, SizeMember(config, "first_bit"));
  NDLFS_TRY(const auto last, SizeMember(config, "last_bit"));
  const uint64_t begin = first.value_or(0);
  const uint64_t end = last.value_or(packing.bits - 1);
  if (begin > end || end >= packing.bits) {
    return model::BadInput("first_bit and last_bit: {} to {} of {} bits", begin, end,
                           packing.bits);
  }
  packing.first_bit = static_cast<unsigned>(begin);
  packing.bits = static_cast<unsigned>(end - begin + 1);
  return packing;
}

}  // namespace

static CodecResult MakePackBits(const CodecConfig& config) {
  if (config.dialect == CodecDialect::kNumcodecs) return NewCodec<PackedBoolsOfBytes>();
  if (config.name != "packbits") return NewCodec<PackedBoolsOfArrays>();
  NDLFS_TRY(const Packing packing, ParsePacking(config), "packbits");
  return NewCodec<PackBitsCodec>(packing);
}

const CodecEntry kPackBitsEntry = {"packbits", "packbits", "", MakePackBits};

}  // namespace ndlfs::backends
