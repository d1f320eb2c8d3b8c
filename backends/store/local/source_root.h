// SPDX-License-Identifier: MIT
#pragma once

#include <dirent.h>
#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "backends/base/new_id.h"
#include "backends/base/unique_fd.h"
#include "backends/store/caller.h"
#include "backends/store/local/confined_open.h"
#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends {

// The directory that ndlfs shows. Opens files only below it: a path that leads out of it, by
// ".." or a symbolic link, fails with EXDEV (confined_open.h). Anything but a regular file or a
// directory fails with ENXIO; a FIFO does not block. Paths are relative; "" is the directory
// itself. Thread-safe.
//
// A shared root opens everything as the caller in the CallerScope of the calling thread
// (caller.h), so that the kernel decides what that user may open. If this process may not take
// the identity of others, the root compares the permissions itself. Without a scope it opens
// nothing.
class SourceRoot : public std::enable_shared_from_this<SourceRoot> {
 public:
  // `shared`: users other than that of this process see what it reads. Without a `confinement`,
  // FindConfinement() chooses one.
  static model::Result<std::shared_ptr<const SourceRoot>> Open(
      const std::string& path, bool shared = false,
      std::optional<Confinement> confinement = std::nullopt);

  // The path it was opened by, made absolute: only for messages.
  const std::string& path() const { return path_; }

  // Opens a file for reading. `flags` may have O_DIRECTORY, O_PATH and O_NOFOLLOW;
  // O_PATH opens files of any kind, FIFOs too. sys_errno() of an error is the
  // errno of the system; its message does not name `path`. `status`, if given,
  // gets the result of fstat(), but not with O_PATH.
  model::Result<UniqueFd> OpenBeneath(std::string_view path, int flags = 0,
                                      struct ::stat* status = nullptr) const;
  // stat(), or lstat() if `follow` is false.
  model::Result<struct ::stat> Stat(std::string_view path, bool follow = true) const;
  // The same as OpenBeneath(), for a path that the caller found folder by folder, when it had
  // no link in it. A shared root refuses a path that has a link now (ELOOP).
  model::Result<UniqueFd> OpenFound(std::string_view path, int flags = 0,
                                    struct ::stat* status = nullptr) const;
  // The same as Stat(), for display. The kernel does not see the access control list of a file
  // in the mount. So a shared root leaves out of the mode every bit that the list may deny to
  // somebody. Without `follow`, opens `path` as OpenFound() does.
  model::Result<struct ::stat> StatForOthers(std::string_view path, bool follow = true) const;
  bool is_shared() const { return shared_; }

  // A directory that is open, to look at the files in it. Its holder can look at them even if
  // it may not enter the directory; so a shared source has none.
  struct Folder {
    std::string path;
    UniqueFd fd;  // O_PATH
    struct ::stat status;
  };
  // The directory at `path`. Opens it anew, unless the request of the calling thread
  // (RequestScope) has opened or looked at it last. Null for a shared source.
  model::Result<std::shared_ptr<const Folder>> OpenFolder(std::string_view path) const;

  // Whether the file or directory at `path` gets its times from the clock of this machine.
  // nullopt if it cannot be opened.
  std::optional<bool> HasTimesOfThisMachine(std::string_view path) const;

  // Remembers, for the request of the calling thread, that the regular file at `path` has
  // `status`; StatForOthers() then need not look again. Keeps only the last such file.
  void KeepStatus(std::string_view path, const struct ::stat& status) const;

  // The text of the symbolic link at `path`, wherever it leads. Opens `path` as
  // OpenFound() does.
  model::Result<std::string> ReadLink(std::string_view path) const;

 private:
  SourceRoot(std::string path, UniqueFd fd, bool shared, Confinement confinement)
      : path_(std::move(path)),
        fd_(std::move(fd)),
        shared_(shared),
        confinement_(confinement) {}
  model::Result<struct ::stat> StatForOthers(int fd) const;
  model::Result<UniqueFd> OpenFile(std::string_view path, int flags, bool follow,
                                   struct ::stat* status) const;
  model::Result<UniqueFd> OpenAsSelf(const std::string& name, int flags, bool follow) const;
  model::Result<UniqueFd> OpenAsCaller(const std::string& name, int flags, bool follow) const;
  model::Result<void> CheckOpenTo(const Caller& caller, int fd, int flags) const;
  struct KnownFile {
    std::string path;
    struct ::stat status;
  };

  // The folder that the request has opened last; null without a request.
  std::shared_ptr<const Folder> LastFolder() const;
  void KeepFolder(std::shared_ptr<const Folder> folder) const;
  // The status of the regular file at `path`, if it lies in that folder.
  std::optional<struct ::stat> StatInLastFolder(std::string_view path) const;

  const std::string path_;
  const UniqueFd fd_;
  const bool shared_;
  const Confinement confinement_;
  const bool takes_identities_ = MayTakeIdentities();
  const uint64_t id_ = NewId();
};

// The names in one directory, one at a time, so that a million of them take
// no memory. Move-only; for one thread at a time.
class DirectoryStream {
 public:
  struct Entry {
    std::string_view name;  // valid until the next call
    uint64_t inode = 0;
    uint8_t type = DT_UNKNOWN;  // DT_REG, DT_DIR, DT_LNK, ...; may be unknown
    // Seek() to this continues after the entry. Never 0.
    int64_t next = 0;
  };

  static model::Result<DirectoryStream> Open(const SourceRoot& root, std::string_view path,
                                             bool may_be_link = true);

  // The next entry in the order of the directory, without "." and ".."; null
  // at the end.
  model::Result<const Entry*> Next();
  // Continues after the entry whose `next` was `position`; 0 is the beginning.
  void Seek(int64_t position);
  // The descriptor of the directory. It stays open as long as this object
  // exists.
  int fd() const { return ::dirfd(directory_.get()); }

 private:
  struct Close {
    void operator()(DIR* directory) const { ::closedir(directory); }
  };
  explicit DirectoryStream(DIR* directory) : directory_(directory) {}
  std::unique_ptr<DIR, Close> directory_;
  Entry entry_;
};

// The version of the file with this status, and the facts about it as a value.
Generation GenerationOf(const struct ::stat& status);
ValueInfo InfoOf(const struct ::stat& status);
// Times in nanoseconds since 1970: of the last write, and of the last change of
// any kind.
int64_t ModifiedNs(const struct ::stat& status);
int64_t ChangedNs(const struct ::stat& status);

// pread until `out` is full or the file ends; returns the bytes read.
model::Result<size_t> ReadFully(int fd, uint64_t offset, ByteSpan out);

// stat() of the regular file at `path`; nullopt if there is none, or a directory.
model::Result<std::optional<struct ::stat>> StatFile(const SourceRoot& root,
                                                     std::string_view path);

// The same as Source::Describe().
std::string DescribePath(const SourceRoot& root, std::string_view path);

// Excludes file systems that are mounted below a source, from now on and for the
// whole process: paths into them fail with EXDEV. Otherwise a process could wait
// for itself, if it serves a mount whose mount point is below its source. Call it
// before there are threads.
void StayOnOneFilesystem();

// The store of the directory at `path` beneath `root`. Only regular files are
// values. Keys with empty, "." or ".." parts are refused (kBadInput), so that a
// key leads out of the store only by a symbolic link. Errors do not name the
// key; callers add Describe(key).
std::shared_ptr<const Store> MakeDirectoryStore(std::shared_ptr<const SourceRoot> root,
                                                std::string path);

// The store of the one file at `path`, with the single key "". It reads only
// the version of the file that it opened first. After a change of the size or
// of one of its times, reads fail with kStale, so that bytes of two versions
// never mix. A file that was replaced or removed can be read while its
// descriptor is open (see descriptor_cache.h); after that, reads fail with
// kStale, too. Stat() looks at the path, and so tells that there is a new
// version; to read it, make a new store. `may_be_link`: `path` may lead through
// links, unlike a path that was found folder by folder.
std::shared_ptr<const Store> MakeFileStore(std::shared_ptr<const SourceRoot> root,
                                           std::string path, bool may_be_link = false);

}  // namespace ndlfs::backends
