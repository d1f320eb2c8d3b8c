// SPDX-License-Identifier: MIT
//
// thrift-compact-protocol.md of Apache Thrift.
#include "backends/parquet/thrift.h"

namespace ndlfs::backends::parquet {
namespace {

int64_t UndoZigzag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

}  // namespace

uint8_t ThriftReader::Byte() {
  if (position_ >= bytes_.size()) ok_ = false;
  return ok_ ? std::to_integer<uint8_t>(bytes_[position_++]) : 0;
}

uint64_t ThriftReader::Varint() {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const uint8_t byte = Byte();
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return ok_ ? value : 0;
  }
  ok_ = false;
  return 0;
}

void ThriftReader::Move(uint64_t bytes) {
  if (bytes > bytes_.size() - position_) ok_ = false;
  if (ok_) position_ += bytes;
}

ThriftReader::Type ThriftReader::NextField(int& id) {
  const uint8_t head = Byte();
  const uint8_t type = head & 15;
  if (!ok_ || type > static_cast<uint8_t>(Type::kStruct)) ok_ = false;
  if (!ok_ || type == 0) return Type::kStop;
  const int64_t wide = head >> 4 != 0 ? id + (head >> 4) : UndoZigzag(Varint());
  if (wide < 0 || wide > INT16_MAX) ok_ = false;
  id = ok_ ? static_cast<int>(wide) : 0;
  return ok_ ? static_cast<Type>(type) : Type::kStop;
}

uint64_t ThriftReader::ListHeader(Type& type) {
  const uint8_t head = Byte();
  const uint64_t count = head >> 4 == 15 ? Varint() : head >> 4;
  // Each value takes at least a byte.
  if ((head & 15) > static_cast<uint8_t>(Type::kStruct) || count > bytes_.size() - position_) {
    ok_ = false;
  }
  type = static_cast<Type>(head & 15);
  return ok_ ? count : 0;
}

int64_t ThriftReader::ReadInteger(Type type) {
  switch (type) {
    case Type::kByte:
      return static_cast<int8_t>(Byte());
    case Type::kInt16:
    case Type::kInt32:
    case Type::kInt64:
      return UndoZigzag(Varint());
    default:
      ok_ = false;
      return 0;
  }
}

uint64_t ThriftReader::ReadSize(Type type) {
  const int64_t value = ReadInteger(type);
  if (value < 0) ok_ = false;
  return ok_ ? static_cast<uint64_t>(value) : 0;
}

std::string_view ThriftReader::ReadText(Type type) {
  if (type != Type::kBinary) ok_ = false;
  const uint64_t size = Varint();
  const size_t begin = position_;
  Move(size);
  return ok_ ? AsText(bytes_.subspan(begin, size)) : std::string_view();
}

void ThriftReader::Skip(Type type) {
  switch (type) {
    case Type::kTrue:
    case Type::kFalse:
      return;
    case Type::kByte:
      return Move(1);
    case Type::kInt16:
    case Type::kInt32:
    case Type::kInt64:
      Varint();
      return;
    case Type::kDouble:
      return Move(8);
    case Type::kBinary:
      ReadText(type);
      return;
    case Type::kStruct:
      return ReadStruct([](int, Type) { return false; });
    case Type::kMap:
      return SkipMap();
    case Type::kList:
    case Type::kSet: {
      if (++depth_ > kMaxDepth) Fail();
      Type inner;
      const uint64_t count = ListHeader(inner);
      // Booleans have a byte each here.
      if (inner == Type::kTrue || inner == Type::kFalse) inner = Type::kByte;
      for (uint64_t i = 0; i < count && ok_; ++i) Skip(inner);
      --depth_;
      return;
    }
    default:
      ok_ = false;
  }
}

void ThriftReader::SkipMap() {
  if (++depth_ > kMaxDepth) Fail();
  const uint64_t count = Varint();
  if (count > bytes_.size() - position_) ok_ = false;
  const uint8_t types = count != 0 ? Byte() : 0;
  const auto as_value = [](unsigned type) {
    return type == 1 || type == 2 ? Type::kByte : static_cast<Type>(type);
  };
  for (uint64_t i = 0; i < count && ok_; ++i) {
    Skip(as_value(types >> 4));
    Skip(as_value(types & 15));
  }
  --depth_;
}

}  // namespace ndlfs::backends::parquet
