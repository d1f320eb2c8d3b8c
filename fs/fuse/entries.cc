// SPDX-License-Identifier: MIT
#include "fs/fuse/entries.h"

#include <algorithm>
#include <utility>

namespace ndlfs::fs {
namespace {

// How long the kernel may believe what can change at any moment.
constexpr double kShortTimeout = 1.0;

timespec ToTimespec(int64_t ns) {
  constexpr int64_t kSecond = 1'000'000'000;
  const int64_t seconds = ns / kSecond - (ns % kSecond < 0);
  timespec time = {};
  time.tv_sec = seconds;
  time.tv_nsec = ns % kSecond + (ns % kSecond < 0 ? kSecond : 0);
  return time;
}

fuse_entry_param MakeEntry(const FilesystemOptions& options, const InodeTable::Inode& inode,
                           const Attributes& attributes, double timeout) {
  fuse_entry_param entry = {};
  entry.ino = inode.nodeid;
  entry.attr = ToStat(options, inode.ino, attributes);
  entry.attr_timeout = entry.entry_timeout = timeout;
  return entry;
}

}  // namespace

TreeNode& AsNode(const InodeTable::Inode& inode) { return *inode.object; }

struct ::stat ToStat(const FilesystemOptions& options, uint64_t ino,
                     const Attributes& attributes) {
  struct ::stat out = {};
  out.st_ino = ino;
  out.st_mode = attributes.mode & ~(options.umask & 0777);
  out.st_nlink = 1;
  out.st_uid = options.uid.value_or(attributes.uid);
  out.st_gid = options.gid.value_or(attributes.gid);
  out.st_rdev = attributes.rdev;
  const uint64_t size = IsDirectory(attributes) ? 0 : *attributes.size;
  out.st_size = static_cast<off_t>(size);
  out.st_blksize = 128L * 1024;
  const uint64_t allocated = attributes.allocated.value_or(size);
  out.st_blocks = static_cast<blkcnt_t>(allocated / 512 + (allocated % 512 != 0));
  out.st_mtim = out.st_atim = ToTimespec(attributes.mtime_ns);
  out.st_ctim = ToTimespec(attributes.ctime_ns);
  return out;
}

struct ::stat ListedStat(const InodeTable& table, const InodeTable::Inode& directory,
                         const DirectoryEntry& entry) {
  struct ::stat status = {};
  status.st_mode = entry.type;
  if (entry.name == ".") {
    status.st_ino = directory.ino;
  } else if (entry.name == "..") {
    status.st_ino = directory.parent_ino;
  } else {
    status.st_ino = table.InoOf(directory.ino, entry.name);
  }
  return status;
}

double TimeoutOf(const FilesystemOptions& options, const InodeTable::Inode& directory,
                 std::string_view name) {
  const double timeout = options.timeout;
  return AsNode(directory).MayChange(name) ? std::min(timeout, kShortTimeout) : timeout;
}

model::Result<fuse_entry_param> CountLookup(const FilesystemOptions& options, InodeTable& table,
                                            const InodeTable::Inode& parent,
                                            std::string_view name, TreeNodePtr node) {
  NDLFS_TRY(const auto attributes, node->StatWhenFound());
  const double timeout = TimeoutOf(options, parent, name);
  const bool asks_for_each = AsNode(parent).DependsOnCaller() || node->DependsOnCaller();
  const bool is_volatile = node->IsVolatile();
  const auto inode =
      table.Lookup(parent.nodeid, name, std::move(node), !IsDirectory(attributes));
  if (!inode) return model::Stale("lookup: it has changed");
  fuse_entry_param entry = MakeEntry(options, *inode, attributes, timeout);
  if (is_volatile) entry.attr_timeout = 0;
  if (asks_for_each) entry.entry_timeout = 0;
  return entry;
}

std::optional<fuse_entry_param> CountListed(const FilesystemOptions& options, InodeTable& table,
                                            const InodeTable::Inode& parent,
                                            std::string_view name, const ListedFile& file) {
  const auto inode = table.LookupListed(parent.nodeid, name, file.version);
  if (!inode) return std::nullopt;
  return MakeEntry(options, *inode, file.attributes, TimeoutOf(options, parent, name));
}

}  // namespace ndlfs::fs
