// SPDX-License-Identifier: MIT
#include "backends/store/local/source_root.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <span>

#include "backends/store/keys.h"
#include "backends/store/local/crossing.h"

namespace ndlfs::backends {
namespace {

using model::IoError;

// openat2 gives up with EAGAIN where a rename elsewhere in the tree races with
// a ".." or a symbolic link; so many in a row is no accident.
constexpr int kRenameRaces = 64;

// Set before there are threads.
bool stays_on_one_filesystem = false;

// Returns a descriptor, or -1 and errno.
int OpenAt2(int directory, const char* path, int flags, uint64_t resolve = 0) {
  open_how how = {};
  how.flags = static_cast<uint64_t>(flags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | resolve;
  if (stays_on_one_filesystem) how.resolve |= RESOLVE_NO_XDEV;
  for (int races = 0;;) {
    const long fd = ::syscall(SYS_openat2, directory, path, &how, sizeof(how));
    if (fd >= 0) return static_cast<int>(fd);
    if (errno == EINTR) continue;
    if (errno == EAGAIN && ++races < kRenameRaces) continue;
    return -1;
  }
}

bool IsFileOrDirectory(const struct ::stat& status) {
  return S_ISREG(status.st_mode) || S_ISDIR(status.st_mode);
}

model::Result<struct ::stat> StatFd(int fd) {
  struct ::stat status;
  if (::fstat(fd, &status) != 0) return IoError(errno, "stat");
  return status;
}

std::string PathToDescriptor(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

// Where the file is now.
model::Result<std::string> PathOfDescriptor(int fd) {
  const std::string link = PathToDescriptor(fd);
  std::string path(PATH_MAX, '\0');
  const ssize_t size = ::readlink(link.c_str(), path.data(), path.size());
  if (size < 0) return IoError(errno, link);
  path.resize(static_cast<size_t>(size));
  return path;
}

// What is left of `own`, the access to what is at `path`, for who has to pass
// the directories on the way. No part of `path` is a link.
model::Result<SourceRoot::PathAccess> AddPassage(const SourceRoot& root, std::string_view path,
                                                 const Access& own) {
  SourceRoot::PathAccess access = {own, own};
  for (size_t end = path.find('/'); end != path.npos; end = path.find('/', end + 1)) {
    NDLFS_TRY(const auto directory, root.StatForOthers(path.substr(0, end), false));
    access.whole = Both(access.whole, PassageThrough(directory));
  }
  return access;
}

// Some filesystems keep any time_t; the years after 2262 are all one to us.
int64_t Nanoseconds(const timespec& time) {
  int64_t result;
  if (__builtin_mul_overflow(int64_t{time.tv_sec}, int64_t{1'000'000'000}, &result) ||
      __builtin_add_overflow(result, int64_t{time.tv_nsec}, &result)) {
    return time.tv_sec < 0 ? INT64_MIN : INT64_MAX;
  }
  return result;
}

std::string MakeAbsolute(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> absolute(::realpath(path.c_str(), nullptr),
                                                             &std::free);
  return absolute ? absolute.get() : path;
}

}  // namespace

void StayOnOneFilesystem() { stays_on_one_filesystem = true; }

bool StaysOnOneFilesystem() { return stays_on_one_filesystem; }

model::Result<std::shared_ptr<const SourceRoot>> SourceRoot::Open(const std::string& path,
                                                                  bool shared) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return IoError(errno, path);
  const UniqueFd probe(OpenAt2(fd.get(), ".", O_PATH | O_CLOEXEC));
  if (!probe) return IoError(errno, "openat2, which Linux has since 5.6");
  return std::shared_ptr<const SourceRoot>(
      new SourceRoot(MakeAbsolute(path), std::move(fd), shared));
}

model::Result<UniqueFd> SourceRoot::OpenBeneath(std::string_view path, int flags,
                                                struct ::stat* status) const {
  return Open(path, flags, 0, status);
}

model::Result<UniqueFd> SourceRoot::OpenFound(std::string_view path, int flags,
                                              struct ::stat* status) const {
  return Open(path, flags, shared_ ? RESOLVE_NO_SYMLINKS : 0, status);
}

model::Result<UniqueFd> SourceRoot::Open(std::string_view path, int flags, uint64_t resolve,
                                         struct ::stat* status) const {
  if (path.find('\0') != std::string_view::npos) return IoError(ENOENT, "open");
  const std::string name = path.empty() ? "." : std::string(path);
  // O_NONBLOCK means nothing to files and directories, but without it a FIFO
  // would keep us waiting for a writer. openat2 takes neither with O_PATH.
  if (!(flags & O_PATH)) flags |= O_RDONLY | O_NOCTTY | O_NONBLOCK;
  UniqueFd fd(OpenAt2(fd_.get(), name.c_str(), flags | O_CLOEXEC, resolve));
  if (!fd) return IoError(errno, "open");
  if (flags & O_PATH) return fd;
  NDLFS_TRY(const auto found, StatFd(fd.get()));
  if (!IsFileOrDirectory(found)) return IoError(ENXIO, "open");
  if (status != nullptr) *status = found;
  return fd;
}

model::Result<struct ::stat> SourceRoot::Stat(std::string_view path, bool follow) const {
  NDLFS_TRY(const auto fd, OpenBeneath(path, O_PATH | (follow ? 0 : O_NOFOLLOW)));
  return StatFd(fd.get());
}

model::Result<struct ::stat> SourceRoot::StatForOthers(std::string_view path,
                                                       bool follow) const {
  NDLFS_TRY(const auto fd,
            follow ? OpenBeneath(path, O_PATH) : OpenFound(path, O_PATH | O_NOFOLLOW));
  return StatForOthers(fd.get());
}

model::Result<struct ::stat> SourceRoot::StatForOthers(int fd) const {
  NDLFS_TRY(auto status, StatFd(fd));
  const bool closed = (status.st_mode & 077) == 0;
  if (!shared_ || closed || S_ISLNK(status.st_mode)) return status;
  std::array<std::byte, 4096> acl;
  // A descriptor of O_PATH has no extended attributes, but its file does.
  const ssize_t size = ::getxattr(PathToDescriptor(fd).c_str(), "system.posix_acl_access",
                                  acl.data(), acl.size());
  if (size >= 0) {
    status.st_mode = WithoutDenied(status.st_mode, std::span(acl).first(size));
  } else if (errno != ENODATA && errno != EOPNOTSUPP) {
    status.st_mode = WithoutDenied(status.st_mode, {});
  }
  return status;
}

model::Result<SourceRoot::PathAccess> SourceRoot::AccessOf(std::string_view path) const {
  // Most paths have no link in them, and then lead where they say.
  const UniqueFd direct(CheckKey(path) ? OpenAt2(fd_.get(), std::string(path).c_str(),
                                                 O_PATH | O_CLOEXEC, RESOLVE_NO_SYMLINKS)
                                       : -1);
  if (direct) {
    NDLFS_TRY(const auto status, StatForOthers(direct.get()));
    return AddPassage(*this, path, AccessTo(status));
  }
  NDLFS_TRY(const auto fd, OpenBeneath(path, O_PATH));
  NDLFS_TRY(const auto status, StatForOthers(fd.get()));
  NDLFS_TRY(const std::string root, PathOfDescriptor(fd_.get()));
  NDLFS_TRY(const std::string real, PathOfDescriptor(fd.get()));
  const Access own = AccessTo(status);
  if (real == root) return PathAccess{own, own};
  const size_t skipped = root == "/" ? 0 : root.size();
  if (!real.starts_with(root) || real[skipped] != '/') return IoError(EXDEV, "access");
  const std::string_view found = std::string_view(real).substr(skipped + 1);
  NDLFS_TRY(PathAccess access, AddPassage(*this, found, own));
  if (found != path) access.own = access.whole;
  return access;
}

// From folder to folder: each was where the next one is found at that moment,
// and the last one where the file is.
model::Result<SourceRoot::PathAccess> SourceRoot::AccessOfOpened(int fd,
                                                                 std::string_view path) const {
  NDLFS_TRY(const auto status, StatForOthers(fd));
  NDLFS_TRY(const std::string root, PathOfDescriptor(fd_.get()));
  NDLFS_TRY(const std::string real, PathOfDescriptor(fd));
  const size_t skipped = root == "/" ? 0 : root.size();
  if (!real.starts_with(root) || real.size() <= skipped || real[skipped] != '/') {
    return IoError(EXDEV, "access");
  }
  const std::string_view found = std::string_view(real).substr(skipped + 1);
  PathAccess access = {AccessTo(status), AccessTo(status)};
  UniqueFd folder;
  for (std::string_view rest = found;;) {
    const size_t slash = rest.find('/');
    const std::string name(rest.substr(0, slash));
    UniqueFd next(::openat(folder ? folder.get() : fd_.get(), name.c_str(),
                           O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!next) return errno == ENOENT ? model::Stale("it is gone") : IoError(errno, "access");
    NDLFS_TRY(const auto there, StatForOthers(next.get()));
    if (slash == rest.npos) {
      if (there.st_dev == status.st_dev && there.st_ino == status.st_ino) break;
      return model::Stale("it has been replaced");
    }
    access.whole = Both(access.whole, PassageThrough(there));
    folder = std::move(next);
    rest.remove_prefix(slash + 1);
  }
  if (found != path) access.own = access.whole;
  return access;
}

model::Result<std::string> SourceRoot::ReadLink(std::string_view path) const {
  NDLFS_TRY(const auto fd, OpenFound(path, O_PATH | O_NOFOLLOW));
  std::string target(PATH_MAX, '\0');
  const ssize_t size = ::readlinkat(fd.get(), "", target.data(), target.size());
  // An empty path that is no link gives ENOENT; the caller expects EINVAL.
  if (size < 0) return IoError(errno == ENOENT ? EINVAL : errno, "readlink");
  target.resize(static_cast<size_t>(size));
  return target;
}

model::Result<DirectoryStream> DirectoryStream::Open(const SourceRoot& root,
                                                     std::string_view path, bool may_be_link) {
  NDLFS_TRY(auto fd, may_be_link ? root.OpenBeneath(path, O_DIRECTORY)
                                 : root.OpenFound(path, O_DIRECTORY));
  DIR* directory = ::fdopendir(fd.get());
  if (directory == nullptr) return IoError(errno, "opendir");
  fd.release();  // closedir() closes it
  return DirectoryStream(directory);
}

model::Result<const DirectoryStream::Entry*> DirectoryStream::Next() {
  for (;;) {
    errno = 0;
    const struct ::dirent64* found = ::readdir64(directory_.get());
    if (found == nullptr) {
      if (errno != 0) return IoError(errno, "readdir");
      return nullptr;
    }
    const std::string_view name = found->d_name;
    if (name == "." || name == "..") continue;
    entry_ = {name, found->d_ino, found->d_type, found->d_off};
    return &entry_;
  }
}

void DirectoryStream::Seek(int64_t position) {
  if (position == 0) {
    ::rewinddir(directory_.get());
  } else {
    ::seekdir(directory_.get(), position);
  }
}

Generation GenerationOf(const struct ::stat& status) {
  return Generation::OfNumbers(
      {status.st_dev, status.st_ino, static_cast<uint64_t>(status.st_size),
       static_cast<uint64_t>(ModifiedNs(status)), static_cast<uint64_t>(ChangedNs(status))});
}

ValueInfo InfoOf(const struct ::stat& status) {
  return {GenerationOf(status), static_cast<uint64_t>(status.st_size), ModifiedNs(status)};
}

int64_t ModifiedNs(const struct ::stat& status) { return Nanoseconds(status.st_mtim); }

int64_t ChangedNs(const struct ::stat& status) { return Nanoseconds(status.st_ctim); }

model::Result<size_t> ReadFully(int fd, uint64_t offset, ByteSpan out) {
  size_t done = 0;
  while (done < out.size()) {
    const uint64_t at = offset + done;
    if (at < offset || at > INT64_MAX) break;  // no file is that long
    const ssize_t count =
        ::pread(fd, out.data() + done, std::min<size_t>(out.size() - done, SSIZE_MAX),
                static_cast<off_t>(at));
    if (count == 0) break;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return IoError(errno, "read");
    done += static_cast<size_t>(count);
  }
  return done;
}

}  // namespace ndlfs::backends
