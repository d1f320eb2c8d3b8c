// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "fs/fuse/mount.h"
#include "model/error.h"

namespace ndlfs::fs {

// Runs `command` with a mount of `given.source` that only this command and the programs that it
// starts see. An ordinary user needs a kernel with user namespaces and the permission to open
// /dev/fuse, and nothing else. `{}` in a word of the command is the mount point, which is also
// in the environment as NDLFS_MOUNTPOINT. `given.mountpoint` is not used.
//
// Returns the exit status of the command. If a signal has ended it: 128 plus the number of the
// signal. If there is no such program: 127. If it cannot be run: 126. The mount stays for
// programs that the command has left in the background.
//
// Call it before the process has started any thread.
model::Result<int> RunInMount(const MountOptions& given, std::vector<std::string> command);

}  // namespace ndlfs::fs
