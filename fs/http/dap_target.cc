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

std::vector<DapTarget> FindDapTargets(const RequestTarget& target) {
  if (target.names.empty() || target.ends_in_slash) return {};
  constexpr std::string_view kNetcdf = ".nc";
  constexpr std::string_view kData = "data";
  for (const auto& [extension, description] : kAnswers) {
    std::string_view stem = target.names.back();
    if (!stem.ends_with(extension)) continue;
    stem.remove_suffix(extension.size());
    std::string end;
    const std::string constraint =
        backends::PercentDecodeLeniently(target.QueryWithout(kTokenParameter));
    if (!constraint.empty()) end = '[' + constraint + ']';
    end += extension;
    const std::vector<std::string> around(target.names.begin(), target.names.end() - 1);
    std::vector<DapTarget> out;
    if (stem.empty() || stem == kData) {
      out.push_back({around, std::string(kData) + end, std::string(description)});
      return out;
    }
    std::vector<std::string> folder = around;
    folder.emplace_back(stem);
    out.push_back({std::move(folder), std::string(kData) + end, std::string(description)});
    if (stem.ends_with(kNetcdf)) {
      // Files of a group may be called like the group.
      stem.remove_suffix(kNetcdf.size());
      out.push_back({around, std::string(stem) + end, std::string(description)});
    }
    return out;
  }
  return {};
}

}  // namespace ndlfs::fs
