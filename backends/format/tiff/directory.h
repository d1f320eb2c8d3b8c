// SPDX-License-Identifier: MIT
//
// The image file directories of TIFF 6.0 and BigTIFF. Nothing in them is trusted: values are
// found and counted here, and read only when somebody asks for them, up to a limit.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/format/tiff/tags.h"
#include "backends/store/store.h"
#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::backends::tiff {

// The most directories of a file that are read. A stack of so many pages takes some MB of
// memory, and each directory may take a read.
inline constexpr size_t kMostDirectories = 200'000;

// "StripOffsets", or "tag 12345".
std::string NameOfTag(uint16_t tag);

// A field of a directory: how many values of which type lie where in the file.
struct Field {
  uint16_t tag = 0;
  uint16_t type = 0;
  uint64_t count = 0;
  uint64_t position = 0;  // of the first value, which need not lie in the file
};

struct Directory {
  uint64_t position = 0;
  uint64_t next = 0;          // where the next directory of the chain is; 0: this is the last
  std::vector<Field> fields;  // by tag, each once
  std::vector<std::string> notes;  // what is odd about it

  // Null if there is no such field.
  const Field* Find(uint16_t tag) const;
};

// The bytes of one value of a type of TIFF; 0 for types that nobody knows.
size_t SizeOfType(uint16_t type);
// Whether values of the type are integers without a sign.
bool IsUnsignedType(uint16_t type);

// Reads directories and their fields, all of one version of the file: kStale once there is
// another. For one thread.
class TiffReader {
 public:
  // Reads the beginning of the file, in one request. kCorrupt if this is no TIFF.
  static model::Result<TiffReader> Open(std::shared_ptr<const Store> store);

  const std::shared_ptr<const Store>& store() const { return store_; }
  model::ByteOrder order() const { return order_; }
  uint64_t first_directory() const { return first_; }
  uint64_t file_size() const { return info_.size; }
  int64_t modified_ns() const { return info_.modified_ns; }
  // The facts about the file when it was opened.
  const ValueInfo& info() const { return info_; }

  // The first bytes of the file.
  const std::shared_ptr<const Bytes>& head() const { return head_; }

  // Another reader of the same version of the file, which reads its first bytes no second time.
  TiffReader Fresh() const;

  model::Result<Directory> ReadDirectory(uint64_t position);

  // The values of a field of integers without a sign. Errors name the field. kBadInput for
  // another type, kLimit for more than `most` values, or for more than 64 MiB in all fields
  // that were read; kCorrupt if they are not in the file.
  model::Result<std::vector<uint64_t>> Integers(const Field& field, uint64_t most);
  // The one integer of the field `tag`; `otherwise` if there is no such field.
  model::Result<uint64_t> Integer(const Directory& directory, uint16_t tag, uint64_t otherwise);
  // The values of a field of numbers of any type, also fractions.
  model::Result<std::vector<double>> Reals(const Field& field, uint64_t most);
  // The bytes of a field of bytes or text, up to the first zero byte for text.
  model::Result<std::string> Text(const Field& field, uint64_t most);

 private:
  explicit TiffReader(std::shared_ptr<const Store> store) : store_(std::move(store)) {}
  model::Result<void> ReadHeader();
  // The bytes of a range of the file; valid until the next call.
  model::Result<ConstByteSpan> Peek(uint64_t position, uint64_t size);
  model::Result<ConstByteSpan> ValuesOf(const Field& field, uint64_t most);
  uint64_t Unsigned(const std::byte* at, size_t size) const;

  std::shared_ptr<const Store> store_;
  std::shared_ptr<const Bytes> head_;
  Bytes window_;  // the part of the file that was read last
  uint64_t window_begin_ = 0;
  model::ByteOrder order_ = model::ByteOrder::kLittle;
  bool is_big_ = false;  // BigTIFF
  uint64_t first_ = 0;
  ValueInfo info_;
  // How many more bytes of values may be read: many fields may share the same large ones.
  uint64_t bytes_left_ = uint64_t{64} << 20;
};

}  // namespace ndlfs::backends::tiff
