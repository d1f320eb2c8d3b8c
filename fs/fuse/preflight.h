// SPDX-License-Identifier: MIT
//
// Checks before mounting.
#pragma once

#include <string>

#include "fs/fuse/mount.h"
#include "fs/serve/source_check.h"
#include "model/error.h"

namespace ndlfs::fs {

// The paths of a mount. The mount point is absolute, without symbolic links.
struct MountPaths : SourcePaths {
  std::string mountpoint;
  // The descriptor N of a mount point "/dev/fd/N": the /dev/fuse of a mount that was made
  // already. -1 for a directory.
  int device = -1;
};

// Resolves the paths of a mount. Refuses, with one line that says what to do about it: a source
// that does not exist, or is neither a directory nor a file that is a store; a mount point that
// does not exist, is not empty, or is in use; one of the two inside the other; a system without
// FUSE. Takes away a mount of ndlfs at the mount point whose process was killed.
model::Result<MountPaths> CheckMount(const MountOptions& options);

// Why /dev/fuse cannot be opened, from the errno of the attempt.
std::string WhyNoDevice(int error);

// Whether a directory of $PATH has a program of this name that this user may run.
bool IsInPath(const char* program);

}  // namespace ndlfs::fs
