// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends {

enum class FileKind : uint8_t {
  kUnknown,  // in listings alone: Stat() tells
  kFile,
  kDirectory,
  kSymlink,
  kFifo,
  kSocket,
  kCharacterDevice,
  kBlockDevice,
};

// Which file something is, whatever happens to its contents and its name.
struct FileId {
  uint64_t device = 0;
  uint64_t inode = 0;
  bool operator==(const FileId&) const = default;
};

// What a source says of a file or directory without reading it. What a source
// does not know is 0, but for `mode`: that has the bits of a file that
// everybody may read.
struct FileStatus {
  FileKind kind = FileKind::kUnknown;
  uint32_t mode = 0;  // the permission bits of POSIX, without the type
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint64_t device_number = 0;  // of a device file
  uint64_t size = 0;           // in bytes
  int64_t mtime_ns = 0;        // since 1970
  int64_t ctime_ns = 0;
  FileId id;
  // Of a file: equal as long as the contents are.
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

  // The status of the entry that Next() gave last; a symbolic link is not
  // followed. nullopt if there is nothing of that name any more. Costs less than
  // Source::Stat() of the path, and no request where looks are requests.
  virtual model::Result<std::optional<FileStatus>> StatEntry() = 0;
};

enum class Follow : uint8_t { kNo, kYes };

// A tree of files that ndlfs shows: a directory, or what there is below a URL.
// Paths are relative and '/'-separated; "" is the top. No path, no symbolic
// link and no name found in a file leads out of the tree: a source refuses
// them. Safe to call concurrently; what is read may change underneath.
class Source {
 public:
  virtual ~Source() = default;

  // The absolute path or the URL of the top: for messages, and because files
  // refer to others by it.
  virtual const std::string& name() const = 0;

  // Whether there are symbolic links.
  virtual bool has_symlinks() const { return false; }
  // Whether each look at a path is a request to a server: then files are known
  // by their names, and those that do not look like stores are not looked into.
  virtual bool looks_are_requests() const { return false; }
  // Whether users who may not read the same files are shown what this reads.
  virtual bool is_shared() const { return false; }

  // What is at `path`; nullopt where there is nothing. With Follow::kNo, a
  // symbolic link is itself.
  virtual model::Result<std::optional<FileStatus>> Stat(std::string_view path,
                                                        Follow follow) const = 0;

  // The names in the directory at `path`. An error of the system (ENOENT,
  // ENOTDIR) where there is none.
  virtual model::Result<std::unique_ptr<DirectoryListing>> List(
      std::string_view path) const = 0;

  // What the symbolic link at `path` says, wherever that leads. An error where
  // there is no link.
  virtual model::Result<std::string> ReadLink(std::string_view path) const;

  // The values of the directory at `path`: its files, by their paths below it.
  // Nothing is looked at before the first read; where there is no directory, no
  // key is there.
  virtual std::shared_ptr<const Store> OpenStore(const std::string& path) const = 0;

  // The file at `path` as the one value "". Nothing is looked at before the first
  // read, and from then on the store keeps to one version of the file: reads of
  // another one fail with kStale, so that bytes of two versions never mix. To
  // read the new version, open it again; Stat("") tells that there is one.
  // Follow::kYes is for paths that a file names, which may lead through symbolic
  // links. Others have been found step by step and had none: a shared source
  // follows no link that is there now.
  virtual std::shared_ptr<const Store> OpenFile(const std::string& path,
                                                Follow follow) const = 0;
  std::shared_ptr<const Store> OpenFile(const std::string& path) const {
    return OpenFile(path, Follow::kNo);
  }

  // Whether there is a regular file at `path`, or where a link there leads.
  bool IsFile(std::string_view path) const;

  // `path` for messages, see DescribeIn().
  std::string Describe(std::string_view path) const;

  // The path beneath the top of what the file at `file_path` calls `name`:
  // relative to its folder, or with the name of the top in front. nullopt where
  // that leads out of the tree by its words alone; links are not looked at.
  std::optional<std::string> Resolve(std::string_view file_path, std::string_view name) const;
};

// `path` of the source called `source_name` for messages: the top goes by the last part of
// that name.
std::string DescribeIn(const std::string& source_name, std::string_view path);

}  // namespace ndlfs::backends
