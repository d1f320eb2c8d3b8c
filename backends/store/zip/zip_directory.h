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

// The signature of a member. An archive begins with it, unless the archive is
// empty or has other bytes in front.
inline constexpr std::string_view kZipMemberSignature("PK\3\4", 4);
inline constexpr size_t kZipLocalHeaderSize = 30;  // without the name, which is behind it

struct ZipMember {
  enum Method : uint16_t { kStored = 0, kDeflated = 8 };
  static constexpr uint16_t kEncrypted = 1 << 0 | 1 << 6 | 1 << 13;  // bits of `flags`

  std::string_view name;          // ends in '/' for a directory
  uint16_t stored_name_size = 0;  // bytes of the name as the archive has it
  uint64_t local_header = 0;
  uint64_t compressed_size = 0;
  uint64_t size = 0;
  uint32_t crc32 = 0;
  uint16_t method = kStored;
  uint16_t flags = 0;
};

// The path within the archive that the stored `name` of a member stands for: archivers also
// write "./a", "/a" and "a//b", and, if `has_backslashes`, "a\\b". nullopt if the name is
// empty, or would lead out of the archive.
std::optional<std::string> SoundZipName(std::string_view name, bool has_backslashes);

// The name of the member that an archive begins with, as far as `head` has all of it (APPNOTE
// 4.3.7); else empty.
std::string_view FirstZipName(std::string_view head);

// The members of an archive, sorted by name. If several have the same name,
// only the last one in the directory counts. Members whose names are no paths within the
// archive are left out. Immutable. Takes about the memory of the names and 40 bytes a member.
class ZipDirectory {
 public:
  // Reads the directory of the archive that is the value at "" of `file`.
  // Refuses archives of several parts, and directories of more than 128 MiB
  // (kLimit).
  static model::Result<ZipDirectory> Read(const Store& file);

  // Whether `matches` is true for the name of a member. Looks at the first
  // 16 MiB of the directory at most. False also if the file is no archive.
  // Fails only if the file cannot be read at this moment
  // (Error::is_transient()).
  static model::Result<bool> AnyName(const Store& file,
                                     const std::function<bool(std::string_view)>& matches);

  size_t size() const { return records_.size(); }
  // The name is valid as long as the directory.
  ZipMember member(size_t i) const;
  std::string_view name(size_t i) const { return NameAt(records_[i]); }
  // The index of the first member whose name is not less than `name`; size() if
  // there is none.
  size_t LowerBound(std::string_view name) const;

  // Whether names have '\\' between folders: no name has '/', and some have '\\'.
  bool has_backslashes() const { return has_backslashes_; }
  // How many members are left out because of their names, and one line for each of the first.
  uint64_t left_out() const { return left_out_; }
  const std::vector<std::string>& notes() const { return notes_; }

  uint64_t held_bytes() const {
    return arena_.capacity() + records_.capacity() * sizeof(uint32_t);
  }

  // Where the directory begins in the file. All members end before it.
  uint64_t offset() const { return offset_; }

 private:
  void Add(const ZipMember& member);
  void MakeNamesSound();
  void LeaveOut(std::string_view name);
  void DropEarlier();
  std::string_view NameAt(uint32_t record) const;

  uint64_t offset_ = 0;
  std::string arena_;              // for each member its fields, then its name
  std::vector<uint32_t> records_;  // offset of each in arena_, sorted by name
  bool has_backslashes_ = false;
  uint64_t left_out_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace ndlfs::backends
