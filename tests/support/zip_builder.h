// SPDX-License-Identifier: MIT
//
// Writes ZIP archives byte by byte, also such as no honest writer makes.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/little_endian.h"

namespace ndlfs::test {

struct ZipMemberSpec {
  std::string name = {};
  std::string data = {};
  bool deflated = false;

  // What is told instead of the truth, if set.
  std::optional<uint16_t> method = {};
  std::optional<uint16_t> flags = {};
  std::optional<uint32_t> crc32 = {};
  std::optional<uint32_t> size = {};
  std::optional<uint32_t> compressed_size = {};
  std::optional<uint32_t> local_header = {};
  std::optional<std::string> local_name = {};
  // Sizes and offset stand in the 64-bit extra field.
  bool zip64 = false;
};

struct ZipEndSpec {
  std::string comment = {};
  std::optional<uint16_t> count = {};
  std::optional<uint32_t> directory_size = {};
  std::optional<uint32_t> directory_offset = {};
  uint16_t part = 0;
  bool zip64 = false;
};

// A raw deflate stream.
inline std::string Deflate(std::string_view data) {
  z_stream stream = {};
  ::deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(::deflateBound(&stream, data.size()) + 16, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  ::deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

inline uint32_t Crc32(std::string_view data) {
  return static_cast<uint32_t>(
      ::crc32(0, reinterpret_cast<const Bytef*>(data.data()), static_cast<uInt>(data.size())));
}

class ZipBuilder {
 public:
  ZipBuilder& Add(const ZipMemberSpec& spec) {
    const std::string stored = spec.deflated ? Deflate(spec.data) : spec.data;
    const uint32_t offset = spec.local_header.value_or(static_cast<uint32_t>(file_.size()));
    const uint32_t size = spec.size.value_or(static_cast<uint32_t>(spec.data.size()));
    const uint32_t compressed_size =
        spec.compressed_size.value_or(static_cast<uint32_t>(stored.size()));
    const std::string common = LittleEndian(spec.flags.value_or(0), 2) +
                               LittleEndian(spec.method.value_or(spec.deflated ? 8 : 0), 2) +
                               std::string(4, '\0') +
                               LittleEndian(spec.crc32.value_or(Crc32(spec.data)), 4);
    const std::string sizes = LittleEndian(compressed_size, 4) + LittleEndian(size, 4);
    const std::string local_name = spec.local_name.value_or(spec.name);
    // An extra field here that the directory does not have.
    const std::string local_extra("\x99\x99\4\0abcd", 8);
    file_ += std::string("PK\3\4\x14\0", 6) + common + sizes +
             LittleEndian(local_name.size(), 2) + LittleEndian(local_extra.size(), 2) +
             local_name + local_extra + stored;
    const std::string extra =
        std::string("\x99\x99\2\0xy", 6) +
        (spec.zip64 ? std::string("\1\0\x18\0", 4) + LittleEndian(size, 8) +
                          LittleEndian(compressed_size, 8) + LittleEndian(offset, 8)
                    : "");
    directory_ += std::string("PK\1\2\x14\0\x14\0", 8) + common +
                  (spec.zip64 ? std::string(8, '\xff') : sizes) +
                  LittleEndian(spec.name.size(), 2) + LittleEndian(extra.size(), 2) +
                  LittleEndian(7, 2) + std::string(8, '\0') +
                  (spec.zip64 ? std::string(4, '\xff') : LittleEndian(offset, 4)) + spec.name +
                  extra + "comment";
    ++count_;
    return *this;
  }

  std::string Build(const ZipEndSpec& spec = {}) const {
    const uint64_t offset = file_.size();
    std::string out = file_ + directory_;
    if (spec.zip64) {
      const uint64_t record = out.size();
      out += std::string("PK\6\6", 4) + LittleEndian(44, 8) + LittleEndian(45, 2) +
             LittleEndian(45, 2) + LittleEndian(spec.part, 4) + LittleEndian(0, 4) +
             LittleEndian(count_, 8) + LittleEndian(count_, 8) +
             LittleEndian(directory_.size(), 8) + LittleEndian(offset, 8);
      out += std::string("PK\6\7", 4) + LittleEndian(0, 4) + LittleEndian(record, 8) +
             LittleEndian(1, 4);
    }
    const uint64_t saturated = spec.zip64 ? UINT32_MAX : 0;
    const auto pick = [&](std::optional<uint32_t> told, uint64_t truth) {
      return told ? *told : saturated ? saturated : truth;
    };
    const uint64_t count = spec.count ? *spec.count : spec.zip64 ? 0xffff : count_;
    out += std::string("PK\5\6", 4) + LittleEndian(spec.zip64 ? 0xffff : spec.part, 2) +
           LittleEndian(spec.zip64 ? 0xffff : 0, 2) + LittleEndian(count, 2) +
           LittleEndian(count, 2) +
           LittleEndian(pick(spec.directory_size, directory_.size()), 4) +
           LittleEndian(pick(spec.directory_offset, offset), 4) +
           LittleEndian(spec.comment.size(), 2) + spec.comment;
    return out;
  }

 private:
  std::string file_;
  std::string directory_;
  uint64_t count_ = 0;
};

}  // namespace ndlfs::test
