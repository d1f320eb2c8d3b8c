// SPDX-License-Identifier: MIT
//
// Smaller versions of an array that its store declares: levels of images of OME-Zarr, and the
// layout of the multiscales of GeoZarr, which TIFF files with overviews and the scales of
// Neuroglancer have here, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fs/view/base/view_input.h"
#include "model/error.h"

namespace ndlfs::fs {

// The levels after that of an array, the largest first. That they are there, and fit, is not
// known yet.
struct StoredLevels {
  std::shared_ptr<const GroupInput> group;  // null if there are none
  std::vector<std::string> paths;           // below the group; at most 64
  std::optional<size_t> z;  // the dimension of an image that is the third direction of space
};

// Reads nothing but attributes of groups. `array` is whole.
StoredLevels FindStoredLevels(const ArrayInput& array);

// nullopt if there is no such array, or it has a defect. Every error is transient. Loads its
// metadata.
model::Result<std::optional<ArrayInput>> LoadStoredLevel(const StoredLevels& levels,
                                                         const std::string& path);

// Whether `level` may show the same as `array`: it has its type, its packing and missing values
// (backends::ReadPacking()), and the same names of dimensions in the same order, where both
// have one ("y_2" is "y"). No extent is larger than in `before`, which is `array` or the level
// before this one, and other ones only along the dimensions `smaller`. The first level of
// which this is false ends the search in all views: those after it are made of it.
bool IsLevelOf(const ArrayInput& level, const ArrayInput& array, const ArrayInput& before,
               const std::vector<size_t>& smaller);

// The dimensions of a picture, and how many elements are enough for it.
struct LevelNeed {
  size_t x = 0;
  size_t y = 0;
  uint64_t columns = 1;
  uint64_t rows = 1;
};

// The smallest level that shows the same as `array` and still has the columns or the rows of
// `need`: a level by IsLevelOf(), in which the z of a volume may be smaller, too. Returns
// `array` if there is none. Loads the metadata of levels. Every error is transient.
model::Result<ArrayInput> FindSmallerLevel(const ArrayInput& array, const LevelNeed& need);

}  // namespace ndlfs::fs
