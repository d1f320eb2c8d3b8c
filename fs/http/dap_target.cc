// SPDX-License-Identifier: MIT
#include "fs/http/dap_target.h"

#include <array>
#include <string_view>
#include <utility>

#include "backends/base/percent_encoding.h"
#include "fs/http/parse/access.h"

namespace ndlfs::fs {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kAnswers = {
    {{".dds", "dods-dds"}, {".das", "dods-das"}, {".dods", "dods-data"}}};

}  // namespace

std::optional<DapTarget> FindDapTarget(const RequestTarget& target) {
  if (target.names.empty() || target.ends_in_slash) return std::nullopt;
  constexpr std::string_view kNetcdf = ".nc";
  for (const auto& [extension, description] : kAnswers) {
    std::string_view stem = target.names.back();
    if (!stem.ends_with(extension)) continue;
    stem.remove_suffix(extension.size());
    DapTarget out{
        .folder = target.names, .name = "data", .description = std::string(description)};
    out.folder.pop_back();
    if (stem.ends_with(kNetcdf)) {
      // Files of a group may be called like the group.
      out.name = stem.substr(0, stem.size() - kNetcdf.size());
    } else if (!stem.empty() && stem != "data") {
      out.folder.emplace_back(stem);
    }
    const std::string constraint =
        backends::PercentDecodeLeniently(target.QueryWithout(kTokenParameter));
    if (!constraint.empty()) out.name += '[' + constraint + ']';
    out.name += extension;
    return out;
  }
  return std::nullopt;
}

}  // namespace ndlfs::fs
