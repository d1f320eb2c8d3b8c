// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends {

enum class FileKind : uint8_t {
  kUnknown,  // only in listings; Stat() tells the kind
  kFile,
  kDirectory,
  kSymlink,
  kFifo,
  kSocket,
  kCharacterDevice,
  kBlockDevice,
};

// The identity of a file, which stays the same when its contents or its name
// change.
struct FileId {
  uint64_t device = 0;
  uint64_t inode = 0;
  bool operator==(const FileId&) const = default;
};

// The status of a file or directory, which a source tells without reading it. Fields that the
// source does not know are 0, except `mode`, which then has the bits of a file that everybody
// may read.
struct FileStatus {
  FileKind kind = FileKind::kUnknown;
  uint32_t mode = 0;  // the permission bits of POSIX, without the type
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint64_t device_number = 0;  // for a device file
  uint64_t size = 0;           // in bytes
  int64_t mtime_ns = 0;        // since 1970
  int64_t ctime_ns = 0;
  FileId id;
  // For a file: equal versions have equal contents.
  Generation version;

  bool is_file() const { return kind == FileKind::kFile; }
  bool is_directory() const { return kind == FileKind::kDirectory; }
  bool is_symlink() const { return kind == FileKind::kSymlink; }
};

// The names in one directory of a source, one at a time, so that a million of
// them take no memory. For one thread at a time.
class DirectoryListing {
 public:
  struct Entry {
    std::string_view name;  // valid until the next call
    FileKind kind = FileKind::kUnknown;
    // Seek() to this continues after the entry. Never 0.
    int64_t next = 0;
  };

  virtual ~DirectoryListing() = default;

  // The next entry, in the order of the directory; null at the end. "." and
  // ".." are left out.
  virtual model::Result<const Entry*> Next() = 0;

  // Continues after the entry whose `next` was `position`; 0 is the beginning.
  virtual void Seek(int64_t position) = 0;

  // The status of the entry that Next() returned last; a symbolic link is not followed. nullopt
  // if the entry is gone. Costs less than Source::Stat() of the path, and no request to a
  // server. A shared source may refuse (EACCES).
  virtual model::Result<std::optional<FileStatus>> StatEntry() = 0;
};

enum class Follow : uint8_t { kNo, kYes };

// A tree of files that ndlfs shows: a directory, or the files below a URL.
// Paths are relative and '/'-separated; "" is the top. No path, no symbolic
// link and no name found in a file leads out of the tree: a source refuses
// them. Thread-safe; the files may change at any time.
class Source {
 public:
  virtual ~Source() = default;

  // The absolute path or the URL of the top, for messages, and for files that refer to others
  // by it.
  virtual const std::string& name() const = 0;

  // A text that no other source has. Followed by "/" and a path, it identifies a file. Without
  // secrets.
  virtual std::string identity() const { return name(); }

  // The source that this one reads through; this one itself if it reads directly.
  virtual const Source& base() const { return *this; }

  // As Store::ClockNs(), for the file system of the top.
  virtual std::optional<int64_t> ClockNs() const;

  // Whether each look at a path is a request to a server. If so, stores are recognized by the
  // names of files, and files with other names are not looked into.
  virtual bool looks_are_requests() const { return false; }
  // Whether several users see what this source reads, although some of them may not read all of
  // its files.
  virtual bool is_shared() const { return false; }

  // The status of the file at `path`; nullopt if there is none. With
  // Follow::kNo, the status of a symbolic link is that of the link itself.
  virtual model::Result<std::optional<FileStatus>> Stat(std::string_view path,
                                                        Follow follow) const = 0;

  // Announces looks: the caller is about to look at `path` (unless it is "") and at these
  // documents in it, which make a directory a store. If looks are requests, the source sends
  // all those together whose answers it does not know.
  virtual void LookTogether(const std::string& /*path*/,
                            std::span<const std::string> /*documents*/) const {}

  // Whether the source remembers the names in the directory at `path`, because a program has
  // listed it. Such a program looks at many of the names next.
  virtual bool HasListed(std::string_view /*path*/) const { return false; }

  // The names in the directory at `path`. An error of the system (ENOENT,
  // ENOTDIR) if there is none.
  virtual model::Result<std::unique_ptr<DirectoryListing>> List(
      std::string_view path) const = 0;

  // The text of the symbolic link at `path`, wherever it leads. An error if
  // there is no link.
  virtual model::Result<std::string> ReadLink(std::string_view path) const;

  // A store of the files in the directory at `path`; their paths below it are
  // the keys. Looks at nothing before the first read. If there is no directory,
  // the store has no keys.
  virtual std::shared_ptr<const Store> OpenStore(const std::string& path) const = 0;

  // A store with the file at `path` as the value of its one key "". Looks at nothing before the
  // first read. From then on the store reads only one version of the file: if the file changes,
  // reads fail with kStale, so that bytes of two versions never mix. Stat("") tells that there
  // is a new version; to read it, open the file again. Use Follow::kYes for a path that a file
  // names; it may lead through symbolic links. Other paths were found folder by folder, and had
  // no links; if one has a link now, a shared source does not follow it.
  virtual std::shared_ptr<const Store> OpenFile(const std::string& path,
                                                Follow follow) const = 0;
  std::shared_ptr<const Store> OpenFile(const std::string& path) const {
    return OpenFile(path, Follow::kNo);
  }

  // Whether there is a regular file at `path`, or at the target of a link
  // there.
  bool IsFile(std::string_view path) const;

  // `path` for messages, see DescribeIn().
  std::string Describe(std::string_view path) const;

  // The path below the top of the file that the file at `file_path` refers to as `name`. `name`
  // is relative to the folder of the referring file, or begins with the name of the top.
  // nullopt if it leads out of the tree. Does not look at links.
  std::optional<std::string> Resolve(std::string_view file_path, std::string_view name) const;
};

// `path` of the source called `source_name` for messages: the last part of that name stands for
// the top.
std::string DescribeIn(const std::string& source_name, std::string_view path);

}  // namespace ndlfs::backends
