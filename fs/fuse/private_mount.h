// SPDX-License-Identifier: MIT
//
// Mounts that only one process and its descendants see.
#pragma once

#include <string>

#include "backends/base/unique_fd.h"
#include "model/error.h"

namespace ndlfs::fs {

// The namespaces in which this process may mount without showing the mount to others.
struct Namespaces {
  // The process has got its capabilities by becoming the owner of a user namespace; it had none
  // before.
  bool user = false;
  // Mounts do not show in other namespaces. False in a chroot directory that is not a mount
  // point.
  bool is_private = true;
};

// Gives this process a mount namespace of its own, and a user namespace if it needs one for
// that. The process must have one thread only. The user and the group stay as they are. The
// error says what forbids it.
model::Result<Namespaces> EnterNamespaces();

// A device for one mount. Opened in the namespace that is to have the mount.
model::Result<backends::UniqueFd> OpenFuseDevice();

// Mounts at the directory `mountpoint`, for the process that reads requests from
// `device`. `source` is the name in /proc/mounts.
model::Result<void> MountDevice(const backends::UniqueFd& device, const std::string& source,
                                const std::string& mountpoint, bool allow_other);

}  // namespace ndlfs::fs
