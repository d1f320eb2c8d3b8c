// SPDX-License-Identifier: MIT
#include "fs/view/place/smaller_level.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/base/json.h"
#include "fs/view/base/array_part.h"
#include "fs/view/base/attributes.h"
#include "fs/view/place/ome_image.h"
#include "fs/view/place/ome_levels.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using backends::Json;
using model::Result;

constexpr size_t kMostListed = 64;

// The dimension of an image that its axes call that of the third direction of space.
std::optional<size_t> DepthOf(const Json& image, size_t rank) {
  const std::vector<std::string> names = ReadOmeAxisNames(image, rank);
  const auto found = std::ranges::find(names, "z");
  if (found == names.end()) return std::nullopt;
  return static_cast<size_t>(found - names.begin());
}

// That of an array: "z", or "z_2" where another array has a "z" of its own.
std::optional<size_t> DepthOf(const ArrayInput& array) {
  for (size_t d = 0; d < array.shape.size(); ++d) {
    const std::string name = DimensionName(array, d);
    if (name == "z" || name.starts_with("z_")) return d;
  }
  return std::nullopt;
}

// The levels of a layout that are made of the one at `below`, or that a group around it is.
std::vector<std::string> LevelsOfLayout(const Json& layout, std::string_view below) {
  std::vector<std::string> assets;  // the own one, and those that are made of it
  std::vector<std::string> paths;
  std::string_view rest;
  if (!layout.is_array()) return paths;
  for (const Json& level : layout) {
    if (assets.size() > kMostListed) break;
    const std::string asset = OmeText(OmeMember(level, "asset"));
    if (asset.empty()) continue;
    if (assets.empty()) {
      const bool is_own = below.starts_with(asset) &&
                          (below.size() == asset.size() || below[asset.size()] == '/');
      if (!is_own) continue;
      rest = below.substr(asset.size());
      assets.push_back(asset);
      continue;
    }
    const std::string origin = OmeText(OmeMember(level, "derived_from"));
    if (std::ranges::find(assets, origin) == assets.end()) continue;
    assets.push_back(asset);
    paths.push_back(asset + std::string(rest));
  }
  return paths;
}

// The multiscales of GeoZarr stand in one of the groups around an array.
StoredLevels LevelsOfGroups(const ArrayInput& array) {
  constexpr int kMostGroups = 4;
  std::string below = array.node->array().name;
  auto group = array.group;
  for (int i = 0; group != nullptr && i < kMostGroups; ++i) {
    const std::string text = TextOf(group->node().attributes(), "multiscales");
    if (!text.empty()) {
      const auto json = backends::ParseJson(text);
      if (!json) return {};
      return {group, LevelsOfLayout(OmeMember(*json, "layout"), below), DepthOf(array)};
    }
    below = std::string(model::BaseName(group->path())) + '/' + below;
    group = group->Outer();
  }
  return {};
}

// Whether `level` may show the same as `full`.
bool IsSmaller(const ArrayInput& level, const ArrayInput& full, const LevelNeed& need,
               std::optional<size_t> z) {
  if (level.dtype != full.dtype || level.reader == nullptr) return false;
  if (level.shape.size() != full.shape.size()) return false;
  for (size_t d = 0; d < full.shape.size(); ++d) {
    const bool may_differ = d == need.x || d == need.y || d == z;
    if (level.shape[d] > full.shape[d] || level.shape[d] == 0) return false;
    if (level.shape[d] != full.shape[d] && !may_differ) return false;
  }
  return level.shape[need.x] > 1 && level.shape[need.y] > 1;
}

}  // namespace

StoredLevels FindStoredLevels(const ArrayInput& array) {
  if (array.group == nullptr) return {};
  auto image = FindOmeLevelsAfter(array);
  if (!image) return LevelsOfGroups(array);
  const auto described = FindOmeImage(image->image->node());
  const auto z = described ? DepthOf(*described, array.shape.size()) : std::nullopt;
  return {std::move(image->image), std::move(image->paths), z};
}

Result<std::optional<ArrayInput>> LoadStoredLevel(const StoredLevels& levels,
                                                  const std::string& path) {
  auto level = LoadOmeLevel(*levels.group, path);
  if (level) return std::optional(*std::move(level));
  if (level.error().is_transient()) return model::Propagate(std::move(level).error());
  return std::nullopt;
}

Result<ArrayInput> FindSmallerLevel(const ArrayInput& array, const LevelNeed& need) {
  const StoredLevels levels = FindStoredLevels(array);
  ArrayInput chosen = array;
  for (const std::string& path : levels.paths) {
    NDLFS_TRY(auto level, LoadStoredLevel(levels, path));
    if (!level || !IsSmaller(*level, chosen, need, levels.z)) break;
    if (level->shape[need.x] < need.columns && level->shape[need.y] < need.rows) break;
    chosen = *std::move(level);
  }
  return chosen;
}

}  // namespace ndlfs::fs
