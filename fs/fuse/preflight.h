// SPDX-License-Identifier: MIT
//
// Checks before mounting.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "fs/fuse/mount.h"
#include "model/error.h"

namespace ndlfs::fs {

// Absolute paths without symbolic links.
struct MountPaths {
  std::string source;  // for a URL: without user, password and query
  std::string mountpoint;
  // `directory` is the source itself or, if the source is one file, the
  // directory that it is in; `file` is then its name there, and else empty.
  std::string directory;
  std::string file;
  std::string url;  // the source as it was given, if it is a URL; then the two above are empty
};

// Resolves the paths of a mount. Refuses, with one line that says what to do about it: a source
// that does not exist, or is neither a directory nor a file that is a store; a mount point that
// does not exist, is not empty, or is in use; one of the two inside the other; a system without
// FUSE. Takes away a mount of ndlfs at the mount point whose process was killed.
model::Result<MountPaths> CheckMount(const MountOptions& options);

// The same for the source alone; there is no mount point in the result.
model::Result<MountPaths> CheckSource(const MountOptions& options);

// Why /dev/fuse cannot be opened, from the errno of the attempt.
std::string WhyNoDevice(int error);

// Whether the directory `inner` is `outer` or below it. Compares devices and
// inodes, and so recognizes a directory under another path.
bool IsInside(std::string inner, const std::string& outer);

// "a named pipe" and the like; empty for directories, regular files and links.
std::string_view SpecialKind(mode_t mode);

// Whether a directory of $PATH has a program of this name that this user may run.
bool IsInPath(const char* program);

// One line of /proc/self/mountinfo.
struct MountEntry {
  std::string mountpoint;
  std::string type;  // "fuse.ndlfs"
  std::string source;
  std::string device;  // "0:51"
};
std::vector<MountEntry> ParseMountInfo(const std::string& text);
// The mounts that this process sees, the latest last. Empty if /proc does not
// tell them.
std::vector<MountEntry> CurrentMounts();

// The type that mounts of ndlfs have in /proc/mounts.
inline constexpr const char* kFilesystemType = "fuse.ndlfs";

}  // namespace ndlfs::fs
