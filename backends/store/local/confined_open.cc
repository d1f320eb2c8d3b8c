// SPDX-License-Identifier: MIT
#include "backends/store/local/confined_open.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdint>
#include <fstream>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/base/interrupted.h"

namespace ndlfs::backends {
namespace {

// openat2 gives up with EAGAIN where a rename elsewhere in the tree races with
// a ".." or a symbolic link; so many in a row is no accident.
constexpr int kRenameRaces = 64;

// Returns a descriptor, or -1 and errno.
int OpenByKernel(int directory, const char* path, int flags, const ConfinedOpen& options) {
  open_how how = {};
  how.flags = static_cast<uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  if (!options.follows_links) how.resolve |= RESOLVE_NO_SYMLINKS;
  if (!options.crosses_mounts) how.resolve |= RESOLVE_NO_XDEV;
  for (int races = 0;;) {
    const long fd = Uninterrupted(
        [&] { return ::syscall(SYS_openat2, directory, path, &how, sizeof(how)); });
    if (fd >= 0) return static_cast<int>(fd);
    if (errno == EAGAIN && ++races < kRenameRaces) continue;
    return -1;
  }
}

std::string LinkToDescriptor(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

// The number of the mount that `fd` is on, or -1. fstat() would ask the file system, which may
// be served by this process.
int MountOf(int fd) {
  file_handle handle = {};
  int mount = -1;
  if (::name_to_handle_at(fd, "", &handle, &mount, AT_EMPTY_PATH) == 0 || errno == EOVERFLOW) {
    return mount;
  }
  // The file system has no handles.
  std::ifstream facts("/proc/self/fdinfo/" + std::to_string(fd));
  for (std::string key; facts >> key; facts.ignore(PATH_MAX, '\n')) {
    if (key == "mnt_id:") return facts >> mount ? mount : -1;
  }
  return -1;
}

// Goes one path. It opens only names without a "/" and never follows a link by a system call:
// it reads the text of a link, and goes that. A ".." forgets the last folder and finds the one
// before it again from the top, because the parent of a folder may have become one outside.
class PartByPart {
 public:
  PartByPart(int top, int flags, const ConfinedOpen& how)
      : top_(top), flags_(flags | O_CLOEXEC), how_(how) {}

  // Returns 0 or an errno; EAGAIN if a rename came in between.
  int Open(std::string_view path, UniqueFd& opened) {
    if (!how_.crosses_mounts) mount_ = MountOf(top_);
    for (int error = PutBefore(path);;) {
      if (error != 0) return error;
      const std::string part = std::move(left_.back());
      left_.pop_back();
      const bool is_last = left_.empty();
      if (part == "..") {
        error = Leave();
        if (is_last) left_.emplace_back(".");
      } else if (!is_last) {
        error = part == "." ? 0 : Enter(part);
      } else {
        error = OpenLast(part, opened);
        if (error == 0 && opened) return 0;
      }
    }
  }

 private:
  // As many as Linux follows, and more system calls than a path of PATH_MAX takes.
  static constexpr int kMostLinks = 40;
  static constexpr int kMostOpens = 1 << 14;

  // Puts `path` before the rest of the way.
  int PutBefore(std::string_view path) {
    if (path.empty()) return ENOENT;
    if (path.size() >= PATH_MAX) return ENAMETOOLONG;
    if (path.front() == '/') return EXDEV;
    if (path.back() == '/') left_.emplace_back(".");  // has to be a directory
    for (size_t end = path.size(); end != 0;) {
      const size_t slash = path.rfind('/', end - 1);
      const size_t begin = slash == path.npos ? 0 : slash + 1;
      if (begin != end) left_.emplace_back(path.substr(begin, end - begin));
      end = slash == path.npos ? 0 : slash;
    }
    return 0;
  }

  // Opens `name` in `folder`; returns 0 or an errno.
  int OpenName(int folder, const std::string& name, int flags, UniqueFd& opened) {
    if (++opens_ > kMostOpens) return ELOOP;
    opened = UniqueFd(Uninterrupted(
        [&] { return ::openat(folder, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC); }));
    if (!opened) return errno;
    if (how_.crosses_mounts || MountOf(opened.get()) == mount_) return 0;
    opened = UniqueFd();
    return EXDEV;
  }

  int OpenFolder(int folder, const std::string& name, UniqueFd& opened) {
    return OpenName(folder, name, O_PATH | O_DIRECTORY, opened);
  }

  int here() const { return here_ ? here_.get() : top_; }

  // Makes here() the folder that the walk has come to.
  int FindHere() {
    if (is_found_) return 0;
    here_ = UniqueFd();
    for (const std::string& name : passed_) {
      UniqueFd next;
      const int error = OpenFolder(here(), name, next);
      if (error == ENOENT || error == ENOTDIR) return EAGAIN;  // it was there
      if (error != 0) return error;
      here_ = std::move(next);
    }
    is_found_ = true;
    return 0;
  }

  int Enter(const std::string& name) {
    if (const int error = FindHere()) return error;
    UniqueFd next;
    const int error = OpenFolder(here(), name, next);
    if (error == ENOTDIR || error == ELOOP) return FollowLink(name, error);
    if (error != 0) return error;
    here_ = std::move(next);
    passed_.push_back(name);
    return 0;
  }

  int Leave() {
    if (passed_.empty()) return EXDEV;
    if (is_found_) {  // a folder that may not be entered has no ".." either
      UniqueFd itself;
      if (const int error = OpenFolder(here(), ".", itself)) return error;
    }
    passed_.pop_back();
    is_found_ = false;
    return 0;
  }

  // `name` may be a link, since it could not be opened for `error`.
  int FollowLink(const std::string& name, int error) {
    UniqueFd link;
    if (const int failed = OpenName(here(), name, O_PATH, link)) return failed;
    std::string target(PATH_MAX, '\0');
    const ssize_t size = ::readlinkat(link.get(), "", target.data(), target.size());
    if (size < 0 && errno != EINVAL && errno != ENOENT) return errno;
    if (size < 0) {  // no link
      struct ::stat status;
      const bool was_link = ::fstat(link.get(), &status) == 0 && S_ISDIR(status.st_mode);
      return was_link ? EAGAIN : error;
    }
    if (!how_.follows_links || ++links_ > kMostLinks) return ELOOP;
    target.resize(static_cast<size_t>(size));
    return PutBefore(target);
  }

  // Sets `opened`, or what is left to go if `name` is a link.
  int OpenLast(const std::string& name, UniqueFd& opened) {
    if (const int error = FindHere()) return error;
    const bool is_path = (flags_ & O_PATH) != 0;
    const bool follows = (flags_ & O_NOFOLLOW) == 0;
    // A file on another mount must not even be opened to find that out.
    const bool looks_first = !is_path && !how_.crosses_mounts;
    const int flags = looks_first ? O_PATH | (flags_ & O_DIRECTORY) : flags_;
    int error = OpenName(here(), name, flags, opened);
    if (error == 0 && (flags & O_PATH) != 0 && (follows || looks_first)) {
      struct ::stat status;
      if (::fstat(opened.get(), &status) != 0) return errno;
      if (S_ISLNK(status.st_mode)) {
        opened = UniqueFd();
        error = ELOOP;
      }
    }
    if ((error == ELOOP || error == ENOTDIR) && follows) return FollowLink(name, error);
    if (error != 0 || !looks_first) return error;
    const std::string found = LinkToDescriptor(opened.get());
    opened =
        UniqueFd(Uninterrupted([&] { return ::open(found.c_str(), flags_ & ~O_NOFOLLOW); }));
    return opened ? 0 : errno;
  }

  const int top_;
  const int flags_;
  const ConfinedOpen& how_;
  int mount_ = -1;
  std::vector<std::string> left_;    // parts to go; the next one is the last
  std::vector<std::string> passed_;  // the names of the folders from the top to here
  UniqueFd here_;                    // none: the top
  bool is_found_ = true;             // whether here_ is what passed_ says
  int links_ = 0;
  int opens_ = 0;
};

int OpenByParts(int directory, const std::string& path, int flags, const ConfinedOpen& how,
                UniqueFd& opened) {
  int error = EAGAIN;
  for (int races = 0; error == EAGAIN && races < kRenameRaces; ++races) {
    error = PartByPart(directory, flags, how).Open(path, opened);
  }
  return error;
}

}  // namespace

Confinement FindConfinement(int directory) {
  const UniqueFd probe(OpenByKernel(directory, ".", O_PATH, {}));
  return !probe && (errno == ENOSYS || errno == EPERM) ? Confinement::kByParts
                                                       : Confinement::kByKernel;
}

model::Result<UniqueFd> OpenConfined(int directory, const std::string& path, int flags,
                                     const ConfinedOpen& how) {
  UniqueFd opened;
  if (how.confinement == Confinement::kByParts) {
    const int error = OpenByParts(directory, path, flags, how, opened);
    if (error != 0) return model::IoError(error, "open");
    return opened;
  }
  opened = UniqueFd(OpenByKernel(directory, path.c_str(), flags, how));
  if (!opened) return model::IoError(errno, "open");
  return opened;
}

}  // namespace ndlfs::backends
