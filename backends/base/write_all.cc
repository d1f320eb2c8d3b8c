// SPDX-License-Identifier: MIT
#include "backends/base/write_all.h"

#include <unistd.h>

#include <cerrno>

namespace ndlfs::backends {

model::Result<void> WriteAll(int fd, ConstByteSpan bytes, std::string_view what) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return model::IoError(errno, what);
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return {};
}

model::Result<void> WriteAllAt(int fd, uint64_t offset, ConstByteSpan bytes,
                               std::string_view what) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return model::IoError(errno, what);
    bytes = bytes.subspan(static_cast<size_t>(count));
    offset += static_cast<uint64_t>(count);
  }
  return {};
}

}  // namespace ndlfs::backends
