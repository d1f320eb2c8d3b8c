// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include "fs/fuse/mount.h"
#include "fs/fuse/preflight.h"
#include "model/error.h"

namespace ndlfs::fs {

// Mounts and serves until the mount ends, and logs what happens meanwhile. The log must have
// been started, and `options` must be those of ResolveOptions(). `on_ready` is called once the
// mount answers. Serve() closes the device of `paths`, if they have one: that of a mount that
// was made already, which it does not unmount either.
model::Result<void> Serve(const MountOptions& options, const MountPaths& paths,
                          const std::function<void()>& on_ready);

// `given` with absolute paths and a number of threads; or the error of an option that is wrong.
model::Result<MountOptions> ResolveOptions(const MountOptions& given, const MountPaths& paths);

}  // namespace ndlfs::fs
