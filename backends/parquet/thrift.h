// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "backends/base/bytes.h"

namespace ndlfs::backends::parquet {

// Reads the compact protocol of Thrift, in which Parquet writes its metadata. After a mistake
// ok() is false, all reads give zeros, and all structs and lists end: so callers ask once, at
// the end. Nothing is allocated. For one thread.
class ThriftReader {
 public:
  enum class Type : uint8_t {
    kStop,
    kTrue,
    kFalse,
    kByte,
    kInt16,
    kInt32,
    kInt64,
    kDouble,
    kBinary,
    kList,
    kSet,
    kMap,
    kStruct,
  };

  explicit ThriftReader(ConstByteSpan bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  size_t position() const { return position_; }
  void Fail() { ok_ = false; }

  // Calls visit(id, type) for each field of a struct. It reads the value and returns true, or
  // returns false to have it skipped.
  template <typename Visit>
  void ReadStruct(const Visit& visit) {
    if (++depth_ > kMaxDepth) Fail();
    int id = 0;
    for (Type type = NextField(id); type != Type::kStop; type = NextField(id)) {
      if (!visit(id, type)) Skip(type);
    }
    --depth_;
  }

  // Calls visit() for each of a list of values of the type `wanted`, to read it. A list of
  // another type, or of more values than bytes, is a mistake.
  template <typename Visit>
  void ReadList(Type wanted, const Visit& visit) {
    Type type;
    const uint64_t count = ListHeader(type);
    if (count != 0 && type != wanted) Fail();
    for (uint64_t i = 0; i < count && ok_; ++i) visit();
  }

  // An integer of any size; other types are a mistake.
  int64_t ReadInteger(Type type);
  // The same where a negative value is a mistake.
  uint64_t ReadSize(Type type);
  // Within the bytes that were given.
  std::string_view ReadText(Type type);
  void Skip(Type type);

 private:
  static constexpr int kMaxDepth = 16;

  uint8_t Byte();
  uint64_t Varint();
  void Move(uint64_t bytes);
  // kStop at the end of the struct. Updates the id of the field before.
  Type NextField(int& id);
  uint64_t ListHeader(Type& type);
  void SkipMap();

  ConstByteSpan bytes_;
  size_t position_ = 0;
  int depth_ = 0;
  bool ok_ = true;
};

}  // namespace ndlfs::backends::parquet
