// SPDX-License-Identifier: MIT
//
// The central directory of a ZIP archive (PKWARE's APPNOTE, sections 4.3 and
// 4.4), with the 64-bit extensions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends {

// What an archive begins with, unless it is empty or something was put before
// it: the signature of a member.
inline constexpr std::string_view kZipMemberSignature("PK\3\4", 4);

struct ZipMember {
  enum Method : uint16_t { kStored = 0, kDeflated = 8 };
  static constexpr uint16_t kEncrypted = 1 << 0 | 1 << 6 | 1 << 13;  // of flags

  std::string_view name;  // of directories with a '/' at the end
  uint64_t local_header = 0;
  uint64_t compressed_size = 0;
  uint64_t size = 0;
  uint32_t crc32 = 0;
  uint16_t method = kStored;
  uint16_t flags = 0;
};

// What an archive holds, sorted by name: of members that have the same one, the
// last in the directory. Immutable; takes about as much memory as the names do,
// and 40 bytes a member.
class ZipDirectory {
 public:
  // Reads that of the file that is the value at "". Refuses archives of
  // several parts, and any with a name that is no relative path beneath the
  // archive; (kLimit) directories of more than 128 MiB.
  static model::Result<ZipDirectory> Read(const Store& file);

  // Whether the name of a member `matches`. Looks at no more than 16 MiB; false
  // also where the file is no archive. An error where it cannot be read at this
  // moment (Error::is_transient()).
  static model::Result<bool> AnyName(const Store& file,
                                     const std::function<bool(std::string_view)>& matches);

  size_t size() const { return records_.size(); }
  ZipMember member(size_t i) const;
  std::string_view name(size_t i) const { return NameAt(records_[i]); }
  // The first member whose name is not less than `name`.
  size_t LowerBound(std::string_view name) const;

  uint64_t held_bytes() const {
    return arena_.capacity() + records_.capacity() * sizeof(uint32_t);
  }

  // Where the directory begins: all members end before.
  uint64_t offset() const { return offset_; }

 private:
  void Add(const ZipMember& member);
  void DropEarlier();
  std::string_view NameAt(uint32_t record) const;

  uint64_t offset_ = 0;
  std::string arena_;              // of each member its fields, then its name
  std::vector<uint32_t> records_;  // where each begins in arena_, by name
};

}  // namespace ndlfs::backends
