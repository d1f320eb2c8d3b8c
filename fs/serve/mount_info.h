// SPDX-License-Identifier: MIT
//
// The mounts of this system.
#pragma once

#include <string>
#include <vector>

namespace ndlfs::fs {

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
