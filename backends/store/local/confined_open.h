// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "backends/base/unique_fd.h"
#include "model/error.h"

namespace ndlfs::backends {

// How a path is kept beneath a directory. Both ways open the same files, and refuse the others
// with the same errors.
enum class Confinement {
  kByKernel,  // openat2 with RESOLVE_BENEATH, which Linux has since 5.6
  kByParts,   // openat with O_NOFOLLOW for each part of the path; slower
};

// The better way that works here. Some sandboxes refuse openat2; they count as older kernels.
Confinement FindConfinement(int directory);

struct ConfinedOpen {
  Confinement confinement = Confinement::kByKernel;
  bool follows_links = true;   // otherwise a path with a link in it fails with ELOOP
  bool crosses_mounts = true;  // otherwise a path into another mount fails with EXDEV
};

// openat() with O_CLOEXEC. A path that leads out of `directory`, by "..", by a symbolic link or
// because it is absolute, fails with EXDEV, whatever other processes rename meanwhile. Magic
// links of /proc are not followed. With O_PATH and O_NOFOLLOW, opens a link at the end itself.
// The message of an error does not name the path.
model::Result<UniqueFd> OpenConfined(int directory, const std::string& path, int flags,
                                     const ConfinedOpen& how);

}  // namespace ndlfs::backends
