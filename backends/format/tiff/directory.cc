// SPDX-License-Identifier: MIT
#include "backends/format/tiff/directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "backends/base/checked.h"
#include "backends/base/load_number.h"

namespace ndlfs::backends::tiff {
namespace {

using model::BadInput;
using model::Corrupt;
using model::Result;

// A directory of a file for the web lies here as a whole, mostly.
constexpr uint64_t kHeadBytes = uint64_t{64} << 10;
// One read finds a directory and the values that follow it.
constexpr uint64_t kLocalWindow = uint64_t{4} << 10, kRemoteWindow = uint64_t{64} << 10;
// Programs write less than a hundred fields.
constexpr uint64_t kMostFields = 4096;

// Types of fields; TIFF 6.0, section 2, and BigTIFF.
constexpr std::array<size_t, 19> kTypeSizes = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4,
                                               8, 4, 8, 4, 0, 0, 8, 8, 8};
constexpr uint16_t kByte = 1, kAscii = 2, kShort = 3, kLong = 4, kRational = 5, kSByte = 6,
                   kUndefined = 7, kSShort = 8, kSLong = 9, kSRational = 10, kFloat = 11,
                   kDouble = 12, kIfd = 13, kLong8 = 16, kSLong8 = 17, kIfd8 = 18;

int64_t ExtendSign(uint64_t value, size_t size) {
  const unsigned shift = 64 - 8 * static_cast<unsigned>(size);
  return static_cast<int64_t>(value << shift) >> shift;
}

}  // namespace

std::string NameOfTag(uint16_t tag) {
  static constexpr std::pair<uint16_t, std::string_view> kNames[] = {
#include "backends/format/tiff/tag_names.inc"
  };
  const auto* found =
      std::ranges::find(kNames, tag, &std::pair<uint16_t, std::string_view>::first);
  return found == std::end(kNames) ? fmt::format("tag {}", tag) : std::string(found->second);
}

size_t SizeOfType(uint16_t type) { return type < kTypeSizes.size() ? kTypeSizes[type] : 0; }

bool IsUnsignedType(uint16_t type) {
  return type == kByte || type == kShort || type == kLong || type == kIfd || type == kLong8 ||
         type == kIfd8;
}

const Field* Directory::Find(uint16_t tag) const {
  const auto found = std::ranges::lower_bound(fields, tag, {}, &Field::tag);
  return found == fields.end() || found->tag != tag ? nullptr : &*found;
}

uint64_t TiffReader::Unsigned(const std::byte* at, size_t size) const {
  return LoadNumber({at, size}, order_);
}

Result<TiffReader> TiffReader::Open(std::shared_ptr<const Store> store) {
  TiffReader reader(std::move(store));
  // Short reads share what a look at the file has brought from a server.
  const uint64_t piece = reader.store_->looks_are_requests() ? kHeadBytes / 2 : kHeadBytes;
  NDLFS_TRY(auto value, reader.store_->Get("", piece, {.range = {0, piece}}));
  if (!value) return model::NotFound("there is no such file");
  reader.info_ = value->info;
  Bytes head = std::move(value->bytes);
  while (head.size() < std::min(kHeadBytes, reader.info_.size)) {
    NDLFS_TRY(value, reader.store_->Get(
                         "", piece,
                         {.range = {head.size(), piece}, .if_match = reader.info_.generation}));
    if (!value || value->bytes.empty()) return model::HasChanged("the file");
    Bytes longer(head.size() + value->bytes.size());
    std::memcpy(longer.data(), head.data(), head.size());
    std::memcpy(longer.data() + head.size(), value->bytes.data(), value->bytes.size());
    head = std::move(longer);
  }
  reader.head_ = std::make_shared<const Bytes>(std::move(head));
  NDLFS_RETURN_IF_ERROR(reader.ReadHeader());
  return reader;
}

TiffReader TiffReader::Fresh() const {
  TiffReader reader(store_);
  reader.head_ = head_;
  reader.order_ = order_;
  reader.is_big_ = is_big_;
  reader.first_ = first_;
  reader.info_ = info_;
  return reader;
}

Result<void> TiffReader::ReadHeader() {
  const ConstByteSpan head = head_->span();
  const std::string_view text = AsText(head);
  const bool is_little = text.starts_with("II");
  if (head.size() < 8 || (!is_little && !text.starts_with("MM"))) {
    return Corrupt("no header of TIFF");
  }
  order_ = is_little ? model::ByteOrder::kLittle : model::ByteOrder::kBig;
  const uint64_t version = Unsigned(head.data() + 2, 2);
  if (version == 42) {
    first_ = Unsigned(head.data() + 4, 4);
    return {};
  }
  if (version != 43) return Corrupt("a TIFF of version {}; 42 and 43 are known", version);
  is_big_ = true;
  if (head.size() < 16) return Corrupt("a header of {} bytes", head.size());
  const uint64_t width = Unsigned(head.data() + 4, 2), zero = Unsigned(head.data() + 6, 2);
  if (width != 8 || zero != 0) return Corrupt("a BigTIFF with offsets of {} bytes", width);
  first_ = Unsigned(head.data() + 8, 8);
  return {};
}

Result<ConstByteSpan> TiffReader::Peek(uint64_t position, uint64_t size) {
  const auto end = CheckedAdd(position, size);
  if (!end || *end > info_.size) {
    return Corrupt("{} bytes at {} are not in the file, which has {}", size, position,
                   info_.size);
  }
  if (*end <= head_->size()) return head_->span().subspan(position, size);
  const bool is_in_window = position >= window_begin_ &&
                            position - window_begin_ <= window_.size() &&
                            size <= window_.size() - (position - window_begin_);
  if (!is_in_window) {
    const uint64_t window = store_->looks_are_requests() ? kRemoteWindow : kLocalWindow;
    const uint64_t wanted = std::min(std::max(size, window), info_.size - position);
    NDLFS_TRY(
        auto value,
        store_->Get("", wanted, {.range = {position, wanted}, .if_match = info_.generation}));
    if (!value || value->bytes.size() != wanted) return model::HasChanged("the file");
    window_ = std::move(value->bytes);
    window_begin_ = position;
  }
  return window_.span().subspan(position - window_begin_, size);
}

Result<Directory> TiffReader::ReadDirectory(uint64_t position) {
  const uint64_t header = is_big_ ? 16 : 8, count_size = is_big_ ? 8 : 2;
  const uint64_t entry_size = is_big_ ? 20 : 12, offset_size = is_big_ ? 8 : 4;
  if (position < header) return Corrupt("it lies in the header, at {}", position);
  NDLFS_TRY(ConstByteSpan bytes, Peek(position, count_size));
  const uint64_t count = Unsigned(bytes.data(), count_size);
  if (count == 0) return Corrupt("it has no fields");
  if (count > kMostFields) return model::Limit("it has {} fields", count);
  const uint64_t entries = position + count_size;
  NDLFS_TRY(bytes, Peek(entries, count * entry_size + offset_size));
  Directory directory;
  directory.position = position;
  directory.next = Unsigned(bytes.data() + count * entry_size, offset_size);
  directory.fields.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    const std::byte* entry = bytes.data() + i * entry_size;
    Field field;
    field.tag = static_cast<uint16_t>(Unsigned(entry, 2));
    field.type = static_cast<uint16_t>(Unsigned(entry + 2, 2));
    field.count = Unsigned(entry + 4, offset_size);
    const auto size = CheckedMultiply(field.count, SizeOfType(field.type));
    field.position = size && *size <= offset_size
                         ? entries + i * entry_size + 4 + offset_size
                         : Unsigned(entry + 4 + offset_size, offset_size);
    directory.fields.push_back(field);
  }
  std::ranges::stable_sort(directory.fields, {}, &Field::tag);
  const auto twice = std::ranges::adjacent_find(directory.fields, {}, &Field::tag);
  if (twice != directory.fields.end()) {
    directory.notes.push_back(
        fmt::format("{} is there twice; the first one counts", NameOfTag(twice->tag)));
    const auto is_same = [](const Field& a, const Field& b) { return a.tag == b.tag; };
    directory.fields.erase(
        std::unique(directory.fields.begin(), directory.fields.end(), is_same),
        directory.fields.end());
  }
  return directory;
}

Result<ConstByteSpan> TiffReader::ValuesOf(const Field& field, uint64_t most) {
  if (field.count > most) {
    return model::Limit("{}: {} values; up to {} are read", NameOfTag(field.tag), field.count,
                        most);
  }
  const auto size = CheckedMultiply(field.count, SizeOfType(field.type));
  if (!size || *size > bytes_left_) {
    return model::Limit("{}: the fields of all directories have too many values",
                        NameOfTag(field.tag));
  }
  bytes_left_ -= *size;
  return Peek(field.position, *size);
}

Result<std::vector<uint64_t>> TiffReader::Integers(const Field& field, uint64_t most) {
  const std::string name = NameOfTag(field.tag);
  if (!IsUnsignedType(field.type)) {
    return BadInput("{}: expected integers, found type {}", name, field.type);
  }
  NDLFS_TRY(const ConstByteSpan bytes, ValuesOf(field, most), name);
  const size_t size = SizeOfType(field.type);
  std::vector<uint64_t> values(field.count);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = Unsigned(bytes.data() + i * size, size);
  }
  return values;
}

Result<uint64_t> TiffReader::Integer(const Directory& directory, uint16_t tag,
                                     uint64_t otherwise) {
  const Field* field = directory.Find(tag);
  if (field == nullptr) return otherwise;
  NDLFS_TRY(const auto values, Integers(*field, 1));
  if (values.empty()) return BadInput("{}: no value", NameOfTag(tag));
  return values[0];
}

Result<std::vector<double>> TiffReader::Reals(const Field& field, uint64_t most) {
  const std::string name = NameOfTag(field.tag);
  NDLFS_TRY(const ConstByteSpan bytes, ValuesOf(field, most), name);
  const size_t size = SizeOfType(field.type);
  std::vector<double> values;
  for (size_t i = 0; i < field.count; ++i) {
    const std::byte* at = bytes.data() + i * size;
    const uint64_t bits = field.type == kRational || field.type == kSRational
                              ? Unsigned(at, 4)
                              : Unsigned(at, size);
    switch (field.type) {
      case kFloat:
        values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
        break;
      case kDouble:
        values.push_back(std::bit_cast<double>(bits));
        break;
      case kRational:
        values.push_back(static_cast<double>(bits) / static_cast<double>(Unsigned(at + 4, 4)));
        break;
      case kSRational:
        values.push_back(static_cast<double>(ExtendSign(bits, 4)) /
                         static_cast<double>(ExtendSign(Unsigned(at + 4, 4), 4)));
        break;
      case kSByte:
      case kSShort:
      case kSLong:
      case kSLong8:
        values.push_back(static_cast<double>(ExtendSign(bits, size)));
        break;
      default:
        if (!IsUnsignedType(field.type)) {
          return BadInput("{}: expected numbers, found type {}", name, field.type);
        }
        values.push_back(static_cast<double>(bits));
    }
  }
  return values;
}

Result<std::string> TiffReader::Text(const Field& field, uint64_t most) {
  const std::string name = NameOfTag(field.tag);
  if (field.type != kAscii && field.type != kByte && field.type != kUndefined) {
    return BadInput("{}: expected text, found type {}", name, field.type);
  }
  NDLFS_TRY(const ConstByteSpan bytes, ValuesOf(field, most), name);
  std::string text(AsText(bytes));
  if (field.type == kAscii) text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

}  // namespace ndlfs::backends::tiff
