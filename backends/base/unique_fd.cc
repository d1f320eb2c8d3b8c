// SPDX-License-Identifier: MIT
#include "backends/base/unique_fd.h"

#include <unistd.h>

namespace ndlfs::backends {

UniqueFd::~UniqueFd() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace ndlfs::backends
