// SPDX-License-Identifier: MIT
//
// HDF5 filter 5 (nbit): stores only the bits of each number that its type uses, without
// gaps. The client data describe the type as a tree:
//   1 (atomic), size, order, precision, offset
//   2 (array), size, base type
//   3 (compound), size, members, then for each member: offset, type
//   4 (no-op: all bits are stored), size
// Bits that are not stored are 0.
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "backends/codec/factories.h"
#include "backends/codec/hdf5_config.h"
#include "backends/codec/stored.h"
#include "backends/codec/stream/high_bit_reader.h"

namespace ndlfs::backends {
namespace {

constexpr int kMaxDepth = 32;

// `bits` bits of the number of `size` bytes at `offset` of an element. They begin at
// bit `shift` of the number, and are stored with the highest bit first.
struct Field {
  uint32_t offset;
  uint32_t size;
  uint32_t bits;
  uint32_t shift;
  bool big_endian;
};

// Flattens the description of a type into the fields of one element.
class TypeParser {
 public:
  explicit TypeParser(std::vector<uint32_t> values) : values_(std::move(values)) {}

  // Parses the type that begins at parameter `at`. It has to fit in `room` bytes.
  model::Result<std::vector<Field>> Parse(size_t at, uint32_t room) {
    at_ = at;
    NDLFS_RETURN_IF_ERROR(ParseType(0, room, 0));
    return std::move(fields_);
  }

 private:
  enum Class : uint32_t { kAtomic = 1, kArray = 2, kCompound = 3, kNoOp = 4 };
  static constexpr size_t kMaxFields = 100'000;

  model::Result<uint32_t> Take() {
    if (at_ == values_.size()) return model::BadInput("the description of the type ends early");
    return values_[at_++];
  }

  model::Result<void> Add(const Field& field) {
    if (fields_.size() == kMaxFields) return model::Limit("more than {} numbers", kMaxFields);
    fields_.push_back(field);
    return {};
  }

  model::Result<void> ParseType(uint32_t offset, uint32_t room, int depth) {
    if (depth == kMaxDepth) return model::Limit("nested more than {} deep", kMaxDepth);
    NDLFS_TRY(const uint32_t type_class, Take());
    NDLFS_TRY(const uint32_t size, Take());
    if (size == 0 || size > room) {
      return model::BadInput("{} bytes where there is room for {}", size, room);
    }
    switch (type_class) {
      case kAtomic:
        return ParseAtomic(offset, size);
      case kArray:
        return ParseArray(offset, size, depth);
      case kCompound:
        return ParseCompound(offset, size, depth);
      case kNoOp:
        return ParseNoOp(offset, size);
      default:
        return model::BadInput("unknown class {}", type_class);
    }
  }

  model::Result<void> ParseAtomic(uint32_t offset, uint32_t size) {
    NDLFS_TRY(const uint32_t order, Take());
    NDLFS_TRY(const uint32_t precision, Take());
    NDLFS_TRY(const uint32_t shift, Take());
    const uint64_t bits = uint64_t{8} * size;
    if (order > 1 || precision == 0 || uint64_t{precision} + shift > bits) {
      return model::BadInput("{} bits from bit {} of {} bytes in order {}", precision, shift,
                             size, order);
    }
    return Add({offset, size, precision, shift, order == 1});
  }

  // Adds unchanged bytes: numbers of one byte each.
  model::Result<void> ParseNoOp(uint32_t offset, uint32_t size) {
    for (uint32_t i = 0; i < size; ++i) {
      NDLFS_RETURN_IF_ERROR(Add({offset + i, 1, 8, 0, false}));
    }
    return {};
  }

  model::Result<void> ParseArray(uint32_t offset, uint32_t size, int depth) {
    if (at_ + 1 >= values_.size()) return model::BadInput("an array without a base type");
    const size_t base = at_;
    // A base of no-op describes all bytes of the array.
    const uint32_t base_size = values_[base] == kNoOp ? size : values_[base + 1];
    if (base_size == 0 || size % base_size != 0) {
      return model::BadInput("an array of {} bytes with items of {}", size, base_size);
    }
    if (values_[base] == kNoOp) {
      at_ += 2;
      return ParseNoOp(offset, size);
    }
    for (uint32_t i = 0; i < size; i += base_size) {
      at_ = base;
      NDLFS_RETURN_IF_ERROR(ParseType(offset + i, base_size, depth + 1));
    }
    return {};
  }

  model::Result<void> ParseCompound(uint32_t offset, uint32_t size, int depth) {
    NDLFS_TRY(const uint32_t members, Take());
    for (uint32_t i = 0; i < members; ++i) {
      NDLFS_TRY(const uint32_t member, Take());
      if (member >= size) return model::BadInput("a member at byte {} of {}", member, size);
      NDLFS_RETURN_IF_ERROR(ParseType(offset + member, size - member, depth + 1));
    }
    return {};
  }

  const std::vector<uint32_t> values_;
  size_t at_ = 0;
  std::vector<Field> fields_;
};

// Stores the lowest `bits` bits of `value` in a number, from bit `shift` on.
void StoreBits(uint64_t value, uint32_t bits, uint32_t shift, const Field& field,
               std::byte* number) {
  while (bits > 0) {
    const uint32_t byte = shift / 8;
    const uint32_t step = std::min(bits, 8 - shift % 8);
    const auto part =
        static_cast<std::byte>((value & ((uint64_t{1} << step) - 1)) << shift % 8);
    number[field.big_endian ? field.size - 1 - byte : byte] |= part;
    value >>= step;
    bits -= step;
    shift += step;
  }
}

// Reads a field into its number, whose bytes must be 0. Reads more than 64 bits in
// parts, the highest first.
void TakeField(HighBitReader& reader, const Field& field, std::byte* element) {
  std::byte* number = element + field.offset;
  for (uint32_t left = field.bits; left > 0;) {
    const uint32_t step = left % 64 != 0 ? left % 64 : 64;
    left -= step;
    StoreBits(reader.Take(step), step, field.shift + left, field, number);
  }
}

class NBitCodec final : public BytesToBytesCodec {
 public:
  NBitCodec(std::vector<Field> fields, size_t element_size, size_t count)
      : fields_(std::move(fields)), element_size_(element_size), count_(count) {
    for (const Field& field : fields_) bits_ += field.bits;
  }

  std::string_view name() const override { return "nbit"; }
  // libhdf5 adds up to a byte, and may store more bytes than it needs.
  SizeBound EncodedSize(uint64_t decoded_size) const override {
    return {decoded_size + 65536, false};
  }

  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    HighBitReader reader(encoded);
    if (CheckedMultiply(bits_, count_).value_or(UINT64_MAX) > reader.bits_left()) {
      return model::Corrupt("{} bytes are too few for {} elements", encoded.size(), count_);
    }
    const size_t size = count_ * element_size_;
    if (size > decoded.size()) {
      return model::Corrupt("decodes to {} bytes, expected at most {}", size, decoded.size());
    }
    if (size != 0) std::memset(decoded.data(), 0, size);
    for (size_t i = 0; i < count_; ++i) {
      for (const Field& field : fields_) {
        TakeField(reader, field, decoded.data() + i * element_size_);
      }
    }
    return size;
  }

 private:
  const std::vector<Field> fields_;
  const size_t element_size_;
  const size_t count_;  // elements in a chunk
  uint64_t bits_ = 0;   // bits of one element
};

// The parameters before the type: their number, whether the filter does nothing, and
// the elements of a chunk.
constexpr size_t kCountAt = 2;
constexpr size_t kTypeAt = 3;

model::Result<AnyCodec> ParseNBit(const CodecConfig& config) {
  NDLFS_TRY(auto values, ParseClientData(config, kTypeAt));
  // The filter does nothing. Then the parameters may lack the type (enums, text).
  if (values[1] != 0) return NewCodec<StoredCodec>("nbit");
  if (values.size() < kTypeAt + 2) return model::BadInput("no parameters of a type");
  const uint32_t count = values[kCountAt];
  const uint32_t size = values[kTypeAt + 1];
  NDLFS_TRY(auto fields, TypeParser(std::move(values)).Parse(kTypeAt, size));
  return NewCodec<NBitCodec>(std::move(fields), size, count);
}

}  // namespace

static CodecResult MakeNBit(const CodecConfig& config) {
  auto codec = ParseNBit(config);
  if (!codec) return model::Propagate(std::move(codec).error(), "nbit");
  return codec;
}

const CodecEntry kNBitEntry = {"", "", "5", MakeNBit, "nbit"};

}  // namespace ndlfs::backends
