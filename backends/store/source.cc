// SPDX-License-Identifier: MIT
#include "backends/store/source.h"

#include <algorithm>
#include <cerrno>
#include <vector>

#include "backends/store/file_name.h"
#include "backends/store/keys.h"
#include "backends/store/source_clock.h"

namespace ndlfs::backends {

model::Result<std::string> Source::ReadLink(std::string_view) const {
  return model::IoError(EINVAL, "readlink");
}

std::optional<int64_t> Source::ClockNs() const { return MachineClockNs(); }

bool Source::IsFile(std::string_view path) const {
  const auto status = Stat(path, Follow::kYes);
  return status && *status && (*status)->is_file();
}

std::string Source::Describe(std::string_view path) const { return DescribeIn(name(), path); }

std::string DescribeIn(const std::string& source_name, std::string_view path) {
  if (!path.empty()) return std::string(path);
  const std::string_view last = FileNameOf(source_name);
  return last.empty() ? source_name : std::string(last);
}

std::optional<std::string> Source::Resolve(std::string_view file_path,
                                           std::string_view name) const {
  std::string path(file_path.substr(0, file_path.rfind('/') + 1));  // npos + 1 is 0
  const std::string top = this->name().ends_with('/') ? this->name() : this->name() + "/";
  if (name.starts_with(top)) {
    name.remove_prefix(top.size());
    path.clear();
  } else if (name.starts_with('/')) {
    return std::nullopt;
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

}  // namespace ndlfs::backends
