// SPDX-License-Identifier: MIT
#include "fs/view/place/smaller_level.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/base/json.h"
#include "backends/format/packing.h"
#include "fs/view/base/array_part.h"
#include "fs/view/base/attributes.h"
#include "fs/view/base/dimension_names.h"
#include "fs/view/place/ome_image.h"
#include "fs/view/place/ome_levels.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using backends::Json;
using model::Result;

constexpr size_t kMostListed = 64;

// The third direction of space.
std::optional<size_t> DepthOf(const std::vector<DimensionKind>& kinds) {
  const auto found = std::ranges::find(kinds, DimensionKind::kDepth);
  if (found == kinds.end()) return std::nullopt;
  return static_cast<size_t>(found - kinds.begin());
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
      return {group, LevelsOfLayout(OmeMember(*json, "layout"), below),
              DepthOf(KindsOf(array))};
    }
    below = std::string(model::BaseName(group->path())) + '/' + below;
    group = group->Outer();
  }
  return {};
}

// NaN is missing whether somebody says so or not.
bool AreSameMissing(const std::vector<model::Value>& some,
                    const std::vector<model::Value>& others) {
  return std::ranges::all_of(some, [&](const model::Value& value) {
    const double* real = value.real();
    return (real != nullptr && std::isnan(*real)) ||
           std::ranges::find(others, value) != others.end();
  });
}

// Whether elements of the two mean the same numbers, and the same ones are missing.
bool HaveSamePacking(const ArrayInput& level, const ArrayInput& array) {
  const auto a = backends::ReadPacking(*level.node);
  const auto b = backends::ReadPacking(*array.node);
  if (!a || !b) return false;
  return a->is_unsigned == b->is_unsigned && a->is_signed == b->is_signed &&
         a->scale.value_or(1) == b->scale.value_or(1) &&
         a->offset.value_or(0) == b->offset.value_or(0) && a->low == b->low &&
         a->high == b->high && AreSameMissing(a->missing, b->missing) &&
         AreSameMissing(b->missing, a->missing);
}

bool HaveSameNames(const ArrayInput& level, const ArrayInput& array) {
  for (size_t d = 0; d < array.shape.size(); ++d) {
    const std::string a = PlainDimension(DimensionName(level, d));
    const std::string b = PlainDimension(DimensionName(array, d));
    if (!a.empty() && !b.empty() && a != b) return false;
  }
  return true;
}

}  // namespace

StoredLevels FindStoredLevels(const ArrayInput& array) {
  if (array.group == nullptr) return {};
  auto image = FindOmeLevelsAfter(array);
  if (!image) return LevelsOfGroups(array);
  return {std::move(image->image), std::move(image->paths), DepthOf(KindsOf(image->axes))};
}

Result<std::optional<ArrayInput>> LoadStoredLevel(const StoredLevels& levels,
                                                  const std::string& path) {
  auto level = LoadOmeLevel(*levels.group, path);
  if (level) return std::optional(*std::move(level));
  if (level.error().is_transient()) return model::Propagate(std::move(level).error());
  return std::nullopt;
}

bool IsLevelOf(const ArrayInput& level, const ArrayInput& array, const ArrayInput& before,
               const std::vector<size_t>& smaller) {
  if (level.reader == nullptr || level.elements == nullptr) return false;
  if (level.dtype != array.dtype || level.shape.size() != array.shape.size()) return false;
  for (size_t d = 0; d < array.shape.size(); ++d) {
    const bool may_differ = std::ranges::find(smaller, d) != smaller.end();
    if (level.shape[d] == 0 || level.shape[d] > before.shape[d]) return false;
    if (level.shape[d] != before.shape[d] && !may_differ) return false;
  }
  return HaveSameNames(level, array) && HaveSamePacking(level, array);
}

Result<ArrayInput> FindSmallerLevel(const ArrayInput& array, const LevelNeed& need) {
  const StoredLevels levels = FindStoredLevels(array);
  std::vector<size_t> smaller = {need.x, need.y};
  if (levels.z) smaller.push_back(*levels.z);
  ArrayInput chosen = array;
  for (const std::string& path : levels.paths) {
    NDLFS_TRY(auto level, LoadStoredLevel(levels, path));
    if (!level || !IsLevelOf(*level, array, chosen, smaller)) break;
    if (level->shape[need.x] < 2 || level->shape[need.y] < 2) break;
    if (level->shape[need.x] < need.columns && level->shape[need.y] < need.rows) break;
    chosen = *std::move(level);
  }
  return chosen;
}

}  // namespace ndlfs::fs
