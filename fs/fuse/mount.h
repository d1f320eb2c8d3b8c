// SPDX-License-Identifier: MIT
//
// Mounts a directory, or one store: everything between the command line and the FUSE
// session.
#pragma once

#include <string>

#include "fs/serve/mount_options.h"
#include "model/error.h"

namespace ndlfs::fs {

// Mounts. In the foreground, serves until the mount ends. Otherwise starts a process in the
// background that serves, and returns once the mount answers; in that process this function
// never returns. Call it before the process has started any thread. The value is the exit
// status of the process. The error is one line that tells a person why there is no mount.
model::Result<int> RunMount(const MountOptions& given);

// Name and version of the library, for `ndlfs --version`: "libfuse 3.14.0".
std::string FuseLibrary();

// Unmounts `path`, and waits, up to a minute, until the process that served it
// has ended, too. Fails if `path` is not a mount of ndlfs.
model::Result<void> RunUnmount(const std::string& path);

// Takes away the mount of ndlfs at `path` whose process has been killed, even if programs still
// have its files open. Refuses a path that is no mount of ndlfs.
model::Result<void> RemoveDeadMount(const std::string& path);

}  // namespace ndlfs::fs
