// SPDX-License-Identifier: MIT
//
// What can be said about a mount before it is tried.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "fs/mount/mount.h"
#include "model/error.h"

namespace ndlfs::fs {

// Absolute paths without symbolic links.
struct MountPaths {
  std::string source;
  std::string mountpoint;
  // The source itself or, where that is one file, the directory that it is in,
  // and the name of the file there.
  std::string directory;
  std::string file;
};

// Refuses, with one line that says what to do about it: a source that is not
// there, or neither a directory nor a file that is a store, a mount point that is not there,
// not empty, in use or tangled up with the source, a system without FUSE. Takes
// away a mount of ndlfs at the mount point whose process was killed.
model::Result<MountPaths> CheckMount(const MountOptions& options);

// The same for the source alone; there is no mount point in the result.
model::Result<MountPaths> CheckSource(const MountOptions& options);

// Why /dev/fuse cannot be opened, from the errno of the attempt.
std::string WhyNoDevice(int error);

// Whether the directory `inner` is `outer` or below it. By device and inode,
// so that another way to the same directory is seen through.
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
// The mounts of this process, the latest last. None where /proc does not say.
std::vector<MountEntry> CurrentMounts();

// The type that mounts of ndlfs have in /proc/mounts.
inline constexpr const char* kFilesystemType = "fuse.ndlfs";

}  // namespace ndlfs::fs
