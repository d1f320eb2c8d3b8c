// SPDX-License-Identifier: MIT
#include "fs/cli/standard_output.h"

#include <unistd.h>

#include <cerrno>

namespace ndlfs::fs {

model::Result<void> WriteStandardOutput(backends::ConstByteSpan bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return model::IoError(errno, "standard output");
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return {};
}

}  // namespace ndlfs::fs
