// SPDX-License-Identifier: MIT
#include "backends/store/local/paths.h"

#include <utility>

#include "backends/store/keys.h"
#include "backends/store/local/local_source.h"

namespace ndlfs::backends {

std::optional<std::string> PathBeneath(const SourceRoot& root, std::string_view file_path,
                                       std::string_view name) {
  return LocalSource(root.shared_from_this()).Resolve(file_path, name);
}

model::Result<std::optional<struct ::stat>> StatFile(const SourceRoot& root,
                                                     std::string_view path) {
  auto status = root.Stat(path);
  if (!status) {
    if (IsAbsent(status.error())) return std::nullopt;
    return model::Propagate(std::move(status).error());
  }
  if (S_ISDIR(status->st_mode)) return std::nullopt;
  if (!S_ISREG(status->st_mode)) return model::IoError(ENXIO, "stat");
  return *status;
}

model::Result<Access> AccessToFile(const SourceRoot& root, std::string_view path) {
  auto access = root.AccessOf(path);
  if (access) return access->whole;
  if (IsAbsent(access.error())) return Access{};
  return model::Propagate(std::move(access).error());
}

std::string DescribePath(const SourceRoot& root, std::string_view path) {
  return LocalSource(root.shared_from_this()).Describe(path);
}

}  // namespace ndlfs::backends
