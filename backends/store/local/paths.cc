// SPDX-License-Identifier: MIT
#include "backends/store/local/paths.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "backends/store/keys.h"

namespace ndlfs::backends {

std::optional<std::string> PathBeneath(const SourceRoot& root, std::string_view file_path,
                                       std::string_view name) {
  std::string path(file_path.substr(0, file_path.rfind('/') + 1));  // npos + 1 is 0
  if (name.starts_with('/')) {
    const std::string top = root.path() == "/" ? "/" : root.path() + "/";
    if (!name.starts_with(top)) return std::nullopt;
    name.remove_prefix(top.size());
    path.clear();
  }
  path += name;
  std::vector<std::string_view> parts;
  for (std::string_view rest = path; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (parts.empty()) {
      return std::nullopt;
    } else {
      parts.pop_back();
    }
  }
  std::string beneath;
  for (const std::string_view part : parts) beneath = JoinKey(beneath, part);
  return beneath;
}

model::Result<std::optional<FileStamp>> StatFile(const SourceRoot& root,
                                                 std::string_view path) {
  auto status = root.Stat(path);
  if (!status) {
    if (IsAbsent(status.error())) return std::nullopt;
    return model::Propagate(std::move(status).error());
  }
  if (S_ISDIR(status->st_mode)) return std::nullopt;
  if (!S_ISREG(status->st_mode)) return model::IoError(ENXIO, "stat");
  return StampOf(*status);
}

std::string DescribePath(const SourceRoot& root, std::string_view path) {
  if (!path.empty()) return std::string(path);
  const size_t slash = root.path().find_last_of('/');
  const std::string name =
      slash == std::string::npos ? root.path() : root.path().substr(slash + 1);
  return name.empty() ? root.path() : name;
}

}  // namespace ndlfs::backends
