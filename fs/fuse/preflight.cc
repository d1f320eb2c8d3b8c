// SPDX-License-Identifier: MIT
#include "fs/fuse/preflight.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
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
#include "fs/serve/mount_info.h"
#include "model/number_text.h"

namespace ndlfs::fs {
namespace {

using model::BadInput;
using model::Quote;
using Status = model::Result<void>;

// The numbers of /dev/fuse: Documentation/admin-guide/devices.txt of Linux.
constexpr unsigned kMiscDevices = 10;
constexpr unsigned kFuseDevice = 229;

std::string Reason(int error) { return std::strerror(error); }

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

// nullopt if `mountpoint` is none of the names "/dev/fd/N".
model::Result<std::optional<int>> FindGivenDevice(std::string_view mountpoint) {
  constexpr std::string_view kDescriptors = "/dev/fd/";
  if (!mountpoint.starts_with(kDescriptors)) return std::nullopt;
  const auto number = model::ParseNumber<int>(mountpoint.substr(kDescriptors.size()));
  struct ::stat status;
  if (number && *number >= 0 && ::fstat(*number, &status) == 0 && S_ISCHR(status.st_mode) &&
      status.st_rdev == makedev(kMiscDevices, kFuseDevice)) {
    return *number;
  }
  return BadInput("mount point {}: not an open /dev/fuse", Quote(mountpoint));
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

}  // namespace

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

model::Result<MountPaths> CheckMount(const MountOptions& options) {
  NDLFS_TRY(SourcePaths source, CheckSource(options));
  MountPaths paths{std::move(source), {}};
  NDLFS_TRY(const auto device, FindGivenDevice(options.mountpoint));
  if (device) {
    paths.mountpoint = options.mountpoint;
    paths.device = *device;
    return paths;
  }
  NDLFS_RETURN_IF_ERROR(ClearDeadMount(options.mountpoint));
  NDLFS_TRY(paths.mountpoint, ResolvePath("mount point", options.mountpoint));
  NDLFS_RETURN_IF_ERROR(CheckDirectory("mount point", paths.mountpoint));
  NDLFS_RETURN_IF_ERROR(CheckNotMounted(paths.mountpoint));
  if (paths.url.empty()) NDLFS_RETURN_IF_ERROR(CheckApart(paths));
  NDLFS_RETURN_IF_ERROR(CheckEmpty(paths.mountpoint));
  NDLFS_RETURN_IF_ERROR(CheckFuse());
  return paths;
}

}  // namespace ndlfs::fs
