// SPDX-License-Identifier: MIT
#include "fs/view/container/pyramid_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "fs/view/base/array_part.h"
#include "fs/view/base/dimension_names.h"
#include "fs/view/base/number_array.h"
#include "fs/view/place/image_place.h"

namespace ndlfs::fs::pyramid {
namespace {

using model::Result;
using Axes = std::vector<ImageAxisOfArray>;

// OME-Zarr has no images of fewer or more dimensions.
constexpr size_t kFewest = 2;
constexpr size_t kMost = 5;

// The type, and whether levels have fewer elements along the axis; nullopt for names that say
// nothing.
std::optional<std::pair<AxisType, bool>> TypeByName(DimensionKind kind) {
  switch (kind) {
    case DimensionKind::kRows:
    case DimensionKind::kColumns:
    case DimensionKind::kDepth:
      return std::pair{AxisType::kSpace, true};
    case DimensionKind::kVertical:
      return std::pair{AxisType::kSpace, false};
    case DimensionKind::kTime:
      return std::pair{AxisType::kTime, false};
    case DimensionKind::kBands:
      return std::pair{AxisType::kChannel, false};
    case DimensionKind::kNoPlace:
      return std::pair{AxisType::kOther, false};
    case DimensionKind::kUnknown:
      break;
  }
  return std::nullopt;
}

std::optional<std::pair<AxisType, bool>> TypeOfOme(const std::string& type) {
  if (type == "space") return std::pair{AxisType::kSpace, true};
  if (type == "time") return std::pair{AxisType::kTime, false};
  if (type == "channel") return std::pair{AxisType::kChannel, false};
  return std::nullopt;
}

// The axes of the image that the array, or the whole of a part, is a level of: one for each
// dimension that is shown; empty if there is none.
std::vector<OmeAxis> ShownOmeAxes(const ArrayInput& array) {
  const ArrayPart part = PartOf(array);
  const std::vector<OmeAxis> all = FindOmeAxes(part.whole);
  std::vector<OmeAxis> shown;
  for (size_t d = 0; d < array.shape.size() && !all.empty(); ++d) {
    const auto of_whole = DimensionOfWhole(part, d);
    if (!of_whole || *of_whole >= all.size()) return {};
    shown.push_back(all[*of_whole]);
  }
  return shown;
}

void TakeType(const std::optional<std::pair<AxisType, bool>>& found,
              std::vector<bool>& is_known, ImageAxisOfArray& axis) {
  if (!found || is_known[axis.dimension]) return;
  axis.type = found->first;
  axis.is_halved = found->second;
  is_known[axis.dimension] = true;
}

// The dimensions in their order, with the types that are known.
Axes NameAxes(const ArrayInput& array, std::vector<bool>& is_known) {
  const std::vector<OmeAxis> ome = ShownOmeAxes(array);
  Axes axes;
  for (size_t d = 0; d < array.shape.size(); ++d) {
    ImageAxisOfArray axis{.dimension = d, .name = DimensionName(array, d)};
    if (!ome.empty()) {
      if (axis.name.empty()) axis.name = ome[d].name;
      TakeType(TypeOfOme(ome[d].type), is_known, axis);
    }
    axes.push_back(std::move(axis));
  }
  std::vector<std::string> names;
  for (const ImageAxisOfArray& axis : axes) names.push_back(axis.name);
  const std::vector<DimensionKind> kinds = KindsOf(names);
  for (size_t d = 0; d < axes.size(); ++d) TakeType(TypeByName(kinds[d]), is_known, axes[d]);
  return axes;
}

// Gives the last two dimensions that nobody has described to the picture, if it needs them.
void CompletePicture(const ArrayInput& array, std::vector<bool>& is_known, Axes& axes) {
  const auto numbers = AsNumbers(array);
  const auto raster = numbers ? AsRaster(array, *numbers) : std::nullopt;
  const bool has_colours = raster && raster->samples > 1;
  if (has_colours) TakeType(std::pair{AxisType::kChannel, false}, is_known, axes.back());
  auto spaces = std::ranges::count(axes, AxisType::kSpace, &ImageAxisOfArray::type);
  for (size_t d = axes.size(); d-- > 0 && spaces < 2;) {
    if (is_known[d]) continue;
    TakeType(std::pair{AxisType::kSpace, true}, is_known, axes[d]);
    ++spaces;
  }
}

// "y", "x" for axes of the picture without a name, else by the number of the dimension. A name
// that is there twice gets the number, too.
void MakeNamesUnique(Axes& axes) {
  const auto is_taken = [&](const std::string& name) {
    return std::ranges::find(axes, name, &ImageAxisOfArray::name) != axes.end();
  };
  std::string_view free = "xy";
  for (size_t d = axes.size(); d-- > 0;) {
    ImageAxisOfArray& axis = axes[d];
    if (!axis.name.empty()) continue;
    std::string name = fmt::format("dim_{}", d);
    if (axis.type == AxisType::kSpace && !free.empty()) {
      if (!is_taken(std::string(1, free.front()))) name = free.front();
      free.remove_prefix(1);
    } else if (axis.type == AxisType::kChannel && !is_taken("c")) {
      name = "c";
    }
    axis.name = std::move(name);
  }
  for (size_t d = 0; d < axes.size(); ++d) {
    while (std::ranges::count(axes, axes[d].name, &ImageAxisOfArray::name) > 1) {
      axes[d].name += fmt::format("_{}", d);
    }
  }
}

}  // namespace

Result<Axes> FindAxes(const ArrayInput& array) {
  const size_t rank = array.shape.size();
  if (rank < kFewest || rank > kMost) {
    return model::NotFound("images of OME-Zarr have 2 to 5 dimensions, and this has {}", rank);
  }
  std::vector<bool> is_known(rank);
  Axes axes = NameAxes(array, is_known);
  CompletePicture(array, is_known, axes);
  MakeNamesUnique(axes);
  const auto count = [&](AxisType type) {
    return std::ranges::count(axes, type, &ImageAxisOfArray::type);
  };
  if (count(AxisType::kSpace) < 2 || count(AxisType::kSpace) > 3) {
    return model::NotFound(
        "images of OME-Zarr have two or three axes of space, and this has {}",
        count(AxisType::kSpace));
  }
  if (count(AxisType::kTime) > 1 || count(AxisType::kChannel) + count(AxisType::kOther) > 1) {
    return model::NotFound(
        "images of OME-Zarr have one axis of time, and one besides it and space; a slice, such "
        "as data[0].ome.zarr, has fewer");
  }
  const auto order = [](const ImageAxisOfArray& axis) {
    return axis.type == AxisType::kTime ? 0 : axis.type == AxisType::kSpace ? 2 : 1;
  };
  std::ranges::stable_sort(axes, {}, order);
  return axes;
}

}  // namespace ndlfs::fs::pyramid
