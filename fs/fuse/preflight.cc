// SPDX-License-Identifier: MIT
#include "fs/fuse/preflight.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <string_view>
#include <thread>
#include <utility>

#include "backends/detection.h"
#include "backends/store/local/local_source.h"
#include "fs/serve/open_source.h"

namespace ndlfs::fs {
namespace {

using model::BadInput;
using model::Quote;
using Status = model::Result<void>;

std::string Reason(int error) { return std::strerror(error); }

model::Result<std::string> Resolve(const char* what, const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  if (!real) return BadInput("{} {}: {}", what, Quote(path), Reason(errno));
  return std::string(real.get());
}

Status CheckDirectory(const char* what, const std::string& path) {
  struct ::stat status;
  if (::stat(path.c_str(), &status) != 0) {
    return BadInput("{} {}: {}", what, Quote(path), Reason(errno));
  }
  const std::string_view special = SpecialKind(status.st_mode);
  if (!special.empty()) {
    return BadInput("{} {}: {}, and not a directory", what, Quote(path), special);
  }
  if (!S_ISDIR(status.st_mode)) return BadInput("{} {}: not a directory", what, Quote(path));
  return {};
}

// A file that only has the name of a store may hold anything: it has to open as one. One that
// begins like a store is mounted even if it is damaged, and shows what is wrong.
Status CheckStoreFile(const std::shared_ptr<const backends::Source>& source,
                      const std::string& file, const backends::Format& format) {
  std::array<std::byte, 1024> head;
  NDLFS_TRY(const auto size, source->OpenFile(file)->ReadInto("", 0, head), "source");
  const bool is_known = format.ProbeContent(std::span(head).first(size.value_or(0)));
  if (is_known) return {};
  NDLFS_RETURN_IF_ERROR(backends::OpenDetected(format, source, file, {}), "source");
  return {};
}

// Where addresses are short, threads and libraries that cannot do without memory end the
// process at any time: better it does not start.
Status CheckAddressSpace(const MountOptions& options) {
  // The program with its libraries; the stacks of threads, and what these keep of the heap.
  constexpr uint64_t kForProgram = uint64_t{512} << 20;
  constexpr uint64_t kForThread = uint64_t{16} << 20;
  struct ::rlimit limit;
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  const uint64_t threads =
      std::max<uint64_t>(options.threads, std::thread::hardware_concurrency());
  const uint64_t needed = kForProgram + 2 * threads * kForThread + options.cache_size;
  if (limit.rlim_cur >= needed) return {};
  return BadInput(
      "the address space is limited to {} MiB (ulimit -v), but --cache-size {}MiB and {} "
      "threads "
      "need {} MiB; raise the limit, or lower --cache-size",
      limit.rlim_cur >> 20, options.cache_size >> 20, threads, needed >> 20);
}

// Whoever names a file means a store, whatever its name is.
Status CheckSourcePath(MountPaths& paths) {
  struct ::stat status;
  paths.directory = paths.source;
  if (::stat(paths.source.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return CheckDirectory("source", paths.source);
  }
  const std::filesystem::path path = paths.source;
  paths.directory = path.parent_path();
  paths.file = path.filename();
  NDLFS_TRY(const auto source, backends::LocalSource::Open(paths.directory), "source");
  const backends::Format* format = backends::DetectFile(*source, paths.file);
  if (format == nullptr) {
    return BadInput("source {}: not a directory, and not an array store", Quote(paths.source));
  }
  return CheckStoreFile(source, paths.file, *format);
}

// Whether systemd or autofs waits there for the first program that looks, in order to mount.
// This process may be the one that mounts: if it looked, it would wait for itself.
bool IsAutomountPoint(const std::string& path) {
  // O_PATH is what does not count as looking; neither does stat().
  const backends::UniqueFd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct ::statfs status;
  return place && ::fstatfs(place.get(), &status) == 0 && status.f_type == AUTOFS_SUPER_MAGIC;
}

// A mount whose process was killed answers to nothing; for a second stat() may not notice.
// One of ndlfs is of no use to anybody: it makes room for the new one.
Status ClearDeadMount(const std::string& mountpoint) {
  if (IsAutomountPoint(mountpoint)) return {};
  const backends::UniqueFd directory(
      ::open(mountpoint.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK));
  if (directory || errno != ENOTCONN) return {};
  const auto removed = RemoveDeadMount(mountpoint);
  if (removed) return {};
  return BadInput(
      "mount point {}: a mount that has died is still there; remove it with: "
      "fusermount3 -u {} ({})",
      Quote(mountpoint), mountpoint, removed.error().message());
}

Status CheckNotMounted(const std::string& mountpoint) {
  for (const MountEntry& entry : CurrentMounts()) {
    if (entry.mountpoint == mountpoint && entry.type == kFilesystemType) {
      return BadInput("mount point {}: already a mount of ndlfs, of {}", Quote(mountpoint),
                      Quote(entry.source));
    }
  }
  return {};
}

Status CheckEmpty(const std::string& mountpoint) {
  if (IsAutomountPoint(mountpoint)) return {};
  NDLFS_TRY(const auto directory, backends::SourceRoot::Open(mountpoint), "mount point");
  NDLFS_TRY(auto names, backends::DirectoryStream::Open(*directory, ""), "mount point");
  NDLFS_TRY(const auto* entry, names.Next(), "mount point");
  if (entry != nullptr) return BadInput("mount point {}: not empty", Quote(mountpoint));
  return {};
}

// Inside the source, the mount would wait for itself; around the source, it
// would hide it.
Status CheckApart(const MountPaths& paths) {
  if (IsInside(paths.mountpoint, paths.source)) {
    return BadInput("mount point {}: inside the source {}", Quote(paths.mountpoint),
                    Quote(paths.source));
  }
  if (IsInside(paths.source, paths.mountpoint)) {
    return BadInput("source {}: inside the mount point {}", Quote(paths.source),
                    Quote(paths.mountpoint));
  }
  return {};
}

Status CheckFuse() {
  const backends::UniqueFd device(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
  if (!device) return BadInput("{}", WhyNoDevice(errno));
  if (::geteuid() != 0 && !IsInPath("fusermount3")) {
    return BadInput(
        "fusermount3 is not installed; without it only root can mount "
        "(Debian: apt install fuse3); `ndlfs run` does not need it");
  }
  return {};
}

// "\040" is a blank: how mountinfo writes what would end a field.
std::string Unescape(std::string_view field) {
  std::string out;
  for (size_t i = 0; i < field.size(); ++i) {
    const bool escaped = field[i] == '\\' && i + 3 < field.size();
    if (!escaped) {
      out += field[i];
      continue;
    }
    out +=
        static_cast<char>(std::strtol(std::string(field.substr(i + 1, 3)).c_str(), nullptr, 8));
    i += 3;
  }
  return out;
}

std::optional<MountEntry> ParseMountLine(const std::string& line) {
  // ID PARENT MAJOR:MINOR ROOT MOUNTPOINT OPTIONS [TAGS...] - TYPE SOURCE OPTIONS
  std::istringstream words(line);
  std::string word, device, mountpoint;
  words >> word >> word >> device >> word >> mountpoint;
  while (words >> word && word != "-") {
  }
  std::string type, source;
  if (!(words >> type >> source)) return std::nullopt;
  return MountEntry{Unescape(mountpoint), type, Unescape(source), device};
}

}  // namespace

bool IsInside(std::string inner, const std::string& outer) {
  struct ::stat wanted;
  if (::stat(outer.c_str(), &wanted) != 0) return false;
  for (;;) {
    struct ::stat status;
    if (::stat(inner.c_str(), &status) == 0 && status.st_dev == wanted.st_dev &&
        status.st_ino == wanted.st_ino) {
      return true;
    }
    const size_t slash = inner.rfind('/');
    if (slash == std::string::npos || inner == "/") return false;
    inner.resize(slash == 0 ? 1 : slash);
  }
}

std::vector<MountEntry> ParseMountInfo(const std::string& text) {
  std::vector<MountEntry> mounts;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (auto entry = ParseMountLine(line)) mounts.push_back(*std::move(entry));
  }
  return mounts;
}

std::vector<MountEntry> CurrentMounts() {
  const std::ifstream file("/proc/self/mountinfo");
  std::ostringstream text;
  text << file.rdbuf();
  return ParseMountInfo(text.str());
}

std::string_view SpecialKind(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFIFO:
      return "a named pipe";
    case S_IFSOCK:
      return "a socket";
    case S_IFCHR:
    case S_IFBLK:
      return "a device";
    default:
      return {};
  }
}

bool IsInPath(const char* program) {
  const char* path = std::getenv("PATH");
  std::istringstream directories(path != nullptr ? path : "/usr/bin:/bin");
  for (std::string directory; std::getline(directories, directory, ':');) {
    if (::access((directory + '/' + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

std::string WhyNoDevice(int error) {
  if (error == ENOENT || error == ENXIO || error == ENODEV) {
    return fmt::format("this system has no FUSE (/dev/fuse: {}); load it with: modprobe fuse",
                       Reason(error));
  }
  return fmt::format("/dev/fuse: {}; mounting is not permitted here", Reason(error));
}

model::Result<MountPaths> CheckSource(const MountOptions& options) {
  NDLFS_RETURN_IF_ERROR(CheckAddressSpace(options));
  MountPaths paths;
  if (IsUrl(options.source)) {
    NDLFS_RETURN_IF_ERROR(CheckUrl(options.source, options.remote), "source");
    paths.url = options.source;
    paths.source = ShownUrl(options.source);
    return paths;
  }
  NDLFS_TRY(paths.source, Resolve("source", options.source));
  NDLFS_RETURN_IF_ERROR(CheckSourcePath(paths));
  return paths;
}

model::Result<MountPaths> CheckMount(const MountOptions& options) {
  NDLFS_TRY(MountPaths paths, CheckSource(options));
  NDLFS_RETURN_IF_ERROR(ClearDeadMount(options.mountpoint));
  NDLFS_TRY(paths.mountpoint, Resolve("mount point", options.mountpoint));
  NDLFS_RETURN_IF_ERROR(CheckDirectory("mount point", paths.mountpoint));
  NDLFS_RETURN_IF_ERROR(CheckNotMounted(paths.mountpoint));
  if (paths.url.empty()) NDLFS_RETURN_IF_ERROR(CheckApart(paths));
  NDLFS_RETURN_IF_ERROR(CheckEmpty(paths.mountpoint));
  NDLFS_RETURN_IF_ERROR(CheckFuse());
  return paths;
}

}  // namespace ndlfs::fs
