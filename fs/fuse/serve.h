// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include "backends/base/unique_fd.h"
#include "fs/fuse/mount.h"
#include "fs/fuse/preflight.h"
#include "model/error.h"

namespace ndlfs::fs {

// Mounts and serves until the mount ends, and logs what happens meanwhile. The log must have
// been started, and `options` must be those of ResolveOptions(). `on_ready` is called once the
// mount answers. If `device` is open, it is the /dev/fuse of a mount that was made already;
// Serve() then does not unmount either.
model::Result<void> Serve(const MountOptions& options, const MountPaths& paths,
                          const std::function<void()>& on_ready,
                          backends::UniqueFd device = {});

// `given` with absolute paths and a number of threads; or the error of an option that is wrong.
model::Result<MountOptions> ResolveOptions(const MountOptions& given, const MountPaths& paths);

}  // namespace ndlfs::fs
