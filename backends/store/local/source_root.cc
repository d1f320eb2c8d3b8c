// SPDX-License-Identifier: MIT
#include "backends/store/local/source_root.h"

#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <span>

#include "backends/base/interrupted.h"
#include "backends/store/cancellation.h"
#include "backends/store/local/file_clock.h"
#include "backends/store/permissions.h"
#include "backends/store/request_scope.h"
#include "backends/store/source.h"

namespace ndlfs::backends {
namespace {

using model::IoError;

// Set before there are threads.
bool stays_on_one_filesystem = false;

// Whether `caller` has the permission `wanted` (4: to read, 1: to pass) of `permissions`.
bool Grants(const Permissions& permissions, const Caller& caller, mode_t wanted) {
  if (permissions.uid == caller.uid) return (permissions.mode & wanted << 6) != 0;
  const bool is_member =
      permissions.gid == caller.gid ||
      std::binary_search(caller.groups.begin(), caller.groups.end(), permissions.gid);
  return (permissions.mode & (is_member ? wanted << 3 : wanted)) != 0;
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

model::Result<std::shared_ptr<const SourceRoot>> SourceRoot::Open(
    const std::string& path, bool shared, std::optional<Confinement> confinement) {
  UniqueFd fd(
      Uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!fd) return IoError(errno, path);
  if (!confinement) confinement = FindConfinement(fd.get());
  if (!OpenConfined(fd.get(), ".", O_PATH, {.confinement = *confinement})) {
    return IoError(errno, path);
  }
  return std::shared_ptr<const SourceRoot>(
      new SourceRoot(MakeAbsolute(path), std::move(fd), shared, *confinement));
}

model::Result<UniqueFd> SourceRoot::OpenBeneath(std::string_view path, int flags,
                                                struct ::stat* status) const {
  return OpenFile(path, flags, /*follow=*/true, status);
}

model::Result<UniqueFd> SourceRoot::OpenFound(std::string_view path, int flags,
                                              struct ::stat* status) const {
  return OpenFile(path, flags, /*follow=*/!shared_, status);
}

model::Result<UniqueFd> SourceRoot::OpenFile(std::string_view path, int flags, bool follow,
                                             struct ::stat* status) const {
  if (path.find('\0') != std::string_view::npos) return IoError(ENOENT, "open");
  CancellationScope::ChargeCall();
  const std::string name = path.empty() ? "." : std::string(path);
  // O_NONBLOCK means nothing to files and directories, but without it a FIFO
  // would keep us waiting for a writer. openat2 takes neither with O_PATH.
  if (!(flags & O_PATH)) flags |= O_RDONLY | O_NOCTTY | O_NONBLOCK;
  flags |= O_CLOEXEC;
  auto opened = shared_ ? OpenAsCaller(name, flags, follow) : OpenAsSelf(name, flags, follow);
  if (!opened) {
    if (opened.error().code() == model::ErrorCode::kDenied) CallerScope::CountDenial();
    return opened;
  }
  UniqueFd fd = *std::move(opened);
  if (flags & O_PATH) return fd;
  NDLFS_TRY(const auto found, StatFd(fd.get()));
  if (!IsFileOrDirectory(found)) return IoError(ENXIO, "open");
  if (S_ISREG(found.st_mode)) KeepStatus(path, found);
  if (status != nullptr) *status = found;
  return fd;
}

model::Result<UniqueFd> SourceRoot::OpenAsSelf(const std::string& name, int flags,
                                               bool follow) const {
  return OpenConfined(fd_.get(), name, flags,
                      {.confinement = confinement_,
                       .follows_links = follow,
                       .crosses_mounts = !stays_on_one_filesystem});
}

model::Result<UniqueFd> SourceRoot::OpenAsCaller(const std::string& name, int flags,
                                                 bool follow) const {
  const CallerPtr& caller = CallerScope::Current();
  if (!caller) return IoError(EACCES, "nobody asks for it");
  if (!caller->is_self && !takes_identities_) {
    NDLFS_TRY(UniqueFd fd, OpenAsSelf(name, flags, follow));
    NDLFS_RETURN_IF_ERROR(CheckOpenTo(*caller, fd.get(), flags));
    return fd;
  }
  NDLFS_TRY(const auto identity, TakenIdentity::Take(*caller));
  return OpenAsSelf(name, flags, follow);
}

// If an ordinary user has mounted for others, the kernel cannot be asked. This decides whether
// `caller` could have opened the file too, by the modes of the file and of the folders that it
// is in now.
model::Result<void> SourceRoot::CheckOpenTo(const Caller& caller, int fd, int flags) const {
  NDLFS_TRY(const auto status, StatForOthers(fd));
  const auto denied = [] { return IoError(EACCES, "open"); };
  const bool reads = (flags & O_PATH) == 0;
  if (reads && !Grants(PermissionsOf(status), caller, 4)) return denied();
  NDLFS_TRY(const std::string root, PathOfDescriptor(fd_.get()));
  NDLFS_TRY(const std::string real, PathOfDescriptor(fd));
  if (real == root) return {};
  const size_t skipped = root == "/" ? 0 : root.size();
  if (!real.starts_with(root) || real.size() <= skipped || real[skipped] != '/') {
    return IoError(EXDEV, "open");
  }
  // From folder to folder: each was where the next one is found at that moment, and the last
  // one where the file is.
  const auto open_folder = [](int at, const std::string& name, int flags) {
    return UniqueFd(
        Uninterrupted([&] { return ::openat(at, name.c_str(), O_PATH | O_CLOEXEC | flags); }));
  };
  UniqueFd folder = open_folder(fd_.get(), ".", 0);
  for (std::string_view rest = std::string_view(real).substr(skipped + 1);;) {
    if (!folder) return denied();
    NDLFS_TRY(const auto passed, StatForOthers(folder.get()));
    if (!Grants(PermissionsOf(passed), caller, 1)) return denied();
    const size_t slash = rest.find('/');
    const std::string name(rest.substr(0, slash));
    folder = open_folder(folder.get(), name, O_NOFOLLOW);
    if (slash == rest.npos) break;
    rest.remove_prefix(slash + 1);
  }
  if (!folder) return denied();
  NDLFS_TRY(const auto found, StatFd(folder.get()));
  if (found.st_dev != status.st_dev || found.st_ino != status.st_ino) return denied();
  return {};
}

model::Result<struct ::stat> SourceRoot::Stat(std::string_view path, bool follow) const {
  NDLFS_TRY(const auto fd, OpenBeneath(path, O_PATH | (follow ? 0 : O_NOFOLLOW)));
  return StatFd(fd.get());
}

model::Result<struct ::stat> SourceRoot::StatForOthers(std::string_view path,
                                                       bool follow) const {
  const RequestScope* const scope = RequestScope::Current();
  const auto file = scope && follow ? scope->Find<KnownFile>(id_, "file") : nullptr;
  if (file && file->path == path) return file->status;
  if (const auto status = StatInLastFolder(path)) return *status;
  if (const auto last = follow ? LastFolder() : nullptr; last && last->path == path) {
    return last->status;
  }
  NDLFS_TRY(auto fd, follow ? OpenBeneath(path, O_PATH) : OpenFound(path, O_PATH | O_NOFOLLOW));
  const auto status = StatForOthers(fd.get());
  if (!shared_ && status && S_ISDIR(status->st_mode)) {
    KeepFolder(
        std::make_shared<const Folder>(Folder{std::string(path), std::move(fd), *status}));
  }
  return status;
}

model::Result<std::shared_ptr<const SourceRoot::Folder>> SourceRoot::OpenFolder(
    std::string_view path) const {
  if (shared_) return nullptr;
  if (auto last = LastFolder(); last && last->path == path) return last;
  NDLFS_TRY(auto fd, OpenBeneath(path, O_PATH | O_DIRECTORY));
  NDLFS_TRY(const auto status, StatFd(fd.get()));
  auto folder =
      std::make_shared<const Folder>(Folder{std::string(path), std::move(fd), status});
  KeepFolder(folder);
  return folder;
}

std::shared_ptr<const SourceRoot::Folder> SourceRoot::LastFolder() const {
  const RequestScope* const scope = RequestScope::Current();
  return scope != nullptr ? scope->Find<Folder>(id_, "") : nullptr;
}

// A shared root says less of a file than its status does.
void SourceRoot::KeepStatus(std::string_view path, const struct ::stat& status) const {
  RequestScope* const scope = RequestScope::Current();
  if (scope == nullptr || shared_) return;
  scope->Keep(id_, "file",
              std::make_shared<const KnownFile>(KnownFile{std::string(path), status}));
}

// One at a time: a request may look into many folders, and descriptors are few.
void SourceRoot::KeepFolder(std::shared_ptr<const Folder> folder) const {
  if (RequestScope* const scope = RequestScope::Current()) scope->Keep(id_, "", folder);
}

// Links, and what is mounted there, are left to those who go there by the rules.
std::optional<struct ::stat> SourceRoot::StatInLastFolder(std::string_view path) const {
  const size_t slash = path.rfind('/');
  const std::string name(path.substr(slash + 1));  // npos + 1 is 0
  const std::string_view parent = slash == path.npos ? "" : path.substr(0, slash);
  const bool is_name =
      !name.empty() && name != "." && name != ".." && name.find('\0') == std::string::npos;
  const auto last = shared_ || !is_name ? nullptr : LastFolder();
  struct ::stat status;
  if (!last || last->path != parent ||
      ::fstatat(last->fd.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISREG(status.st_mode) || status.st_dev != last->status.st_dev) {
    return std::nullopt;
  }
  return status;
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
  return {.generation = GenerationOf(status),
          .size = static_cast<uint64_t>(status.st_size),
          .modified_ns = ModifiedNs(status),
          .placed_ns = ChangedNs(status)};
}

std::optional<bool> SourceRoot::HasTimesOfThisMachine(std::string_view path) const {
  const auto fd = OpenBeneath(path, O_PATH);
  if (!fd) return std::nullopt;
  return backends::HasTimesOfThisMachine(fd->get());
}

int64_t ModifiedNs(const struct ::stat& status) { return Nanoseconds(status.st_mtim); }

int64_t ChangedNs(const struct ::stat& status) { return Nanoseconds(status.st_ctim); }

model::Result<std::optional<struct ::stat>> StatFile(const SourceRoot& root,
                                                     std::string_view path) {
  auto status = root.Stat(path);
  if (!status) {
    if (status.error().is_no_such_file()) return std::nullopt;
    return model::Propagate(std::move(status).error());
  }
  if (S_ISDIR(status->st_mode)) return std::nullopt;
  if (!S_ISREG(status->st_mode)) return model::IoError(ENXIO, "stat");
  return *status;
}

std::string DescribePath(const SourceRoot& root, std::string_view path) {
  return DescribeIn(root.path(), path);
}

model::Result<size_t> ReadFully(int fd, uint64_t offset, ByteSpan out) {
  size_t done = 0;
  while (done < out.size()) {
    const uint64_t at = offset + done;
    if (at < offset || at > INT64_MAX) break;  // no file is that long
    const size_t size = std::min<size_t>(out.size() - done, SSIZE_MAX);
    const ssize_t count = Uninterrupted(
        [&] { return ::pread(fd, out.data() + done, size, static_cast<off_t>(at)); });
    if (count == 0) break;
    if (count < 0) return IoError(errno, "read");
    done += static_cast<size_t>(count);
  }
  return done;
}

}  // namespace ndlfs::backends
