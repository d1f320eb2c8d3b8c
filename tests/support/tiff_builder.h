// SPDX-License-Identifier: MIT
//
// TIFF files in memory, for tests: fields are what the test says, right or wrong.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace ndlfs::test {

// A number in a byte order.
inline std::string TiffNumber(uint64_t value, size_t size, bool is_big_endian) {
  std::string bytes;
  for (size_t i = 0; i < size; ++i) {
    bytes += static_cast<char>(value >> 8 * (is_big_endian ? size - 1 - i : i));
  }
  return bytes;
}

// A field of a directory.
struct TiffField {
  uint16_t type = 4;
  std::vector<uint64_t> values = {};
  // Or the bytes of the values, and how many there are.
  std::string bytes = {};
  uint64_t count = 0;
};

class TiffBuilder {
 public:
  using Fields = std::map<uint16_t, TiffField>;

  explicit TiffBuilder(bool is_big_tiff = false, bool is_big_endian = false)
      : is_big_tiff_(is_big_tiff), is_big_endian_(is_big_endian) {
    file_ = is_big_endian ? "MM" : "II";
    file_ += Number(is_big_tiff ? 43 : 42, 2);
    if (is_big_tiff) file_ += Number(8, 2) + Number(0, 2);
    link_ = file_.size();
    file_ += Number(0, offset_size());
  }

  // Appends bytes and returns where they are.
  uint64_t Data(const std::string& bytes) {
    const uint64_t offset = file_.size();
    file_ += bytes;
    return offset;
  }

  // Appends a directory. `is_linked`: the chain leads to it; otherwise it is one for SubIFDs.
  // Returns where it is.
  uint64_t Directory(const Fields& fields, bool is_linked = true) {
    std::string entries = Number(fields.size(), is_big_tiff_ ? 8 : 2);
    for (const auto& [tag, field] : fields) {
      std::string bytes = field.bytes;
      for (const uint64_t value : field.values) bytes += Number(value, SizeOf(field.type));
      const uint64_t count = field.count != 0 ? field.count : field.values.size();
      entries += Number(tag, 2) + Number(field.type, 2) + Number(count, offset_size());
      if (bytes.size() > offset_size()) bytes = Number(Data(bytes), offset_size());
      bytes.resize(offset_size());
      entries += bytes;
    }
    const uint64_t offset = Data(entries);
    if (is_linked) {
      Link(offset);
      link_ = file_.size();
    }
    file_ += Number(0, offset_size());
    return offset;
  }

  // Makes the last directory lead to this offset.
  void Link(uint64_t offset) {
    file_.replace(link_, offset_size(), Number(offset, offset_size()));
  }

  std::string Number(uint64_t value, size_t size) const {
    return TiffNumber(value, size, is_big_endian_);
  }
  const std::string& file() const { return file_; }

  // Fields of an uncompressed image in one strip, of samples of `bits` bits.
  static Fields Image(uint64_t width, uint64_t length, uint64_t bits, uint64_t offset) {
    return {{256, {4, {width}}},
            {257, {4, {length}}},
            {258, {3, {bits}}},
            {259, {3, {1}}},
            {262, {3, {1}}},
            {273, {4, {offset}}},
            {277, {3, {1}}},
            {278, {4, {length}}},
            {279, {4, {(width * bits + 7) / 8 * length}}}};
  }
  // Makes of them those of tiles at `offsets`.
  static Fields Tiled(Fields fields, uint64_t width, uint64_t length,
                      std::vector<uint64_t> offsets, std::vector<uint64_t> counts) {
    fields.erase(273);
    fields.erase(278);
    fields.erase(279);
    fields[322] = {3, {width}};
    fields[323] = {3, {length}};
    fields[324] = {4, std::move(offsets)};
    fields[325] = {4, std::move(counts)};
    return fields;
  }

 private:
  size_t offset_size() const { return is_big_tiff_ ? 8 : 4; }
  static size_t SizeOf(uint16_t type) {
    constexpr size_t kSizes[] = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8};
    return type < 19 ? kSizes[type] : 1;
  }

  const bool is_big_tiff_, is_big_endian_;
  std::string file_;
  uint64_t link_;
};

}  // namespace ndlfs::test
