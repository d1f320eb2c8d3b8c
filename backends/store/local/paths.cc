// SPDX-License-Identifier: MIT
#include "backends/store/local/paths.h"

#include <utility>

#include "backends/store/source.h"

namespace ndlfs::backends {

model::Result<std::optional<struct ::stat>> StatFile(const SourceRoot& root,
                                                     std::string_view path) {
  auto status = root.Stat(path);
  if (!status) {
    if (status.error().is_no_such_file()) return std::nullopt;
    return model::Propagate(std::move(status).error());
  }
  if (S_ISDIR(status->st_mode)) return std::nullopt;
  if (!S_ISREG(status->st_mode)) return model::IoError(ENXIO, "stat");
  return *status;
}

std::string DescribePath(const SourceRoot& root, std::string_view path) {
  return DescribeIn(root.path(), path);
}

}  // namespace ndlfs::backends
