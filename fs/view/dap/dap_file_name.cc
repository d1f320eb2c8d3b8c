// SPDX-License-Identifier: MIT
#include "fs/view/dap/dap_file_name.h"

namespace ndlfs::fs {

std::optional<DapFileName> ParseDapFileName(std::string_view name,
                                            std::span<const std::string_view> extensions) {
  constexpr std::string_view kStem = "data";
  if (!name.starts_with(kStem)) return std::nullopt;
  name.remove_prefix(kStem.size());
  for (size_t i = 0; i < extensions.size(); ++i) {
    if (!name.ends_with(extensions[i])) continue;
    name.remove_suffix(extensions[i].size());
    if (name.empty()) return DapFileName{.constraint = {}, .extension = i};
    if (!name.starts_with('[') || !name.ends_with(']')) return std::nullopt;
    return DapFileName{.constraint = name.substr(1, name.size() - 2), .extension = i};
  }
  return std::nullopt;
}

}  // namespace ndlfs::fs
