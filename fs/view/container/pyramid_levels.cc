// SPDX-License-Identifier: MIT
#include "fs/view/container/pyramid_levels.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "fs/view/base/array_part.h"
#include "fs/view/base/attributes.h"
#include "fs/view/base/block_statistics.h"
#include "fs/view/base/number_array.h"
#include "fs/view/elements/converted_elements.h"
#include "fs/view/place/label_numbers.h"
#include "fs/view/place/smaller_level.h"

namespace ndlfs::fs::pyramid {
namespace {

using model::Result;
using Axes = std::vector<ImageAxisOfArray>;
using Extents = std::vector<uint64_t>;

constexpr uint64_t kSmallEnough = 256;
constexpr size_t kMostLevels = 64;

// --- Levels of the store

Result<std::vector<ArrayInput>> LoadLevels(const ArrayInput& array, const Axes& axes) {
  std::vector<ArrayInput> smaller;
  if (array.part || array.reader == nullptr) return smaller;
  std::vector<size_t> space;
  for (const ImageAxisOfArray& axis : axes) {
    if (axis.type == AxisType::kSpace) space.push_back(axis.dimension);
  }
  const StoredLevels levels = FindStoredLevels(array);
  for (const std::string& path : levels.paths) {
    NDLFS_TRY(auto level, LoadStoredLevel(levels, path));
    const ArrayInput& before = smaller.empty() ? array : smaller.back();
    if (!level || !IsLevelOf(*level, array, before, space)) break;
    if (level->shape != before.shape) smaller.push_back(*std::move(level));
  }
  return smaller;
}

// --- The form of all levels

// `array` with the dimensions in the order of the axes.
Result<ArrayInput> InOrder(const ArrayInput& array, const Axes& axes) {
  if (std::ranges::is_sorted(axes, {}, &ImageAxisOfArray::dimension)) return array;
  ArrayPart part = PartOf(array);
  if (part.is_converted || part.blocks) {
    return model::NotFound(
        "images of OME-Zarr have time first, and then a channel; these "
        "values are in another order");
  }
  std::vector<size_t> dimensions;
  for (const ImageAxisOfArray& axis : axes) {
    dimensions.push_back(*DimensionOfWhole(part, axis.dimension));
  }
  return MakePart(part.whole, std::move(part.selection), std::move(dimensions));
}

// float16 and its like as float32, as all levels.
ArrayInput InUsualFloats(const ArrayInput& array) {
  ElementConversion wider = ToFloat32(array.dtype);
  if (!wider.converter) return array;
  ArrayInput floats = array;
  ArrayPart part = PartOf(array);
  part.is_converted = true;
  auto node = std::make_shared<backends::Node>(*array.node);
  if (auto* ndarray = std::get_if<model::Ndarray>(&node->entity)) {
    ndarray->type = wider.type;
    ndarray->storage.fillvalue.reset();
  }
  floats.node = std::move(node);
  floats.dtype = wider.type;
  floats.elements = ConvertElements(array.elements, std::move(wider));
  floats.reader = nullptr;
  floats.part = std::make_shared<const ArrayPart>(std::move(part));
  return floats;
}

Result<Level> StoredLevel(const ArrayInput& array, const ArrayInput& full, const Axes& axes) {
  Level level;
  NDLFS_TRY(level.array, InOrder(array, axes));
  level.array = InUsualFloats(level.array);
  for (const ImageAxisOfArray& axis : axes) {
    level.factors.push_back(static_cast<double>(full.shape[axis.dimension]) /
                            static_cast<double>(array.shape[axis.dimension]));
  }
  if (const auto numbers = AsNumbers(array)) {
    NDLFS_TRY(level.own, DescribeGeometry(array, *numbers));
  }
  return level;
}

// --- Computed levels

uint64_t Quotient(uint64_t extent, uint64_t by) { return extent / by + (extent % by != 0); }

// Doubles the blocks along the axes that the next level has fewer elements along. False if the
// level of `blocks` is the last one. The third axis of a stack of few pictures waits until
// these are about as small.
bool NextBlocks(const Axes& axes, const Extents& shape, Extents& blocks) {
  constexpr uint64_t kFewer = 4;
  Extents counts;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].is_halved) counts.push_back(Quotient(shape[i], blocks[i]));
  }
  std::ranges::sort(counts);
  if (counts.empty() || counts.back() <= kSmallEnough) return false;
  const uint64_t of_picture = counts.size() == 3 ? counts[1] : 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const uint64_t count = Quotient(shape[i], blocks[i]);
    const bool waits = count < of_picture / kFewer;
    if (axes[i].is_halved && count > 1 && !waits) blocks[i] *= 2;
  }
  return true;
}

Result<void> AddComputedLevels(const ArrayInput& full, Pyramid& pyramid) {
  const auto statistic =
      pyramid.method == Method::kFirst ? Statistic::kFirst : Statistic::kRoundedMean;
  Extents blocks(full.shape.size(), 1);
  while (pyramid.levels.size() < kMostLevels && NextBlocks(pyramid.axes, full.shape, blocks)) {
    Level level;
    NDLFS_TRY(level.array, MakeBlocks(full, {.statistic = statistic, .extents = blocks}));
    level.factors.assign(blocks.begin(), blocks.end());
    level.blocks = blocks;
    pyramid.levels.push_back(std::move(level));
  }
  return {};
}

}  // namespace

Result<Pyramid> MakePyramid(const ArrayInput& array) {
  Pyramid pyramid;
  NDLFS_TRY(pyramid.axes, FindAxes(array));
  NDLFS_TRY(const ArrayInput full, InOrder(array, pyramid.axes));
  pyramid.levels.push_back(
      {.array = InUsualFloats(full), .factors = std::vector<double>(array.shape.size(), 1)});
  NDLFS_TRY(const std::vector<ArrayInput> stored, LoadLevels(array, pyramid.axes));
  if (!stored.empty()) {
    pyramid.method = Method::kStored;
    for (const ArrayInput& one : stored) {
      NDLFS_TRY(Level level, StoredLevel(one, array, pyramid.axes));
      pyramid.levels.push_back(std::move(level));
    }
    return pyramid;
  }
  if (AreLabels(PartOf(array).whole)) pyramid.method = Method::kFirst;
  NDLFS_RETURN_IF_ERROR(AddComputedLevels(full, pyramid));
  return pyramid;
}

}  // namespace ndlfs::fs::pyramid
