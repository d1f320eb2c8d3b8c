// SPDX-License-Identifier: MIT
//
// The levels of a pyramid: an array, and coarser and coarser ones that show the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "fs/view/base/view_input.h"
#include "fs/view/container/pyramid_axes.h"
#include "fs/view/place/geometry.h"
#include "model/error.h"

namespace ndlfs::fs::pyramid {

enum class Method : uint8_t {
  kMean,    // of the elements of the full resolution that are not missing
  kFirst,   // the first element of the block: for numbers that are names
  kStored,  // the levels are those of the store
};

struct Level {
  ArrayInput array;  // its dimensions are the axes, in their order
  // The elements of the full resolution along each axis that an element stands for.
  std::vector<double> factors;
  // Those of a computed level as whole numbers; empty if it is stored.
  std::vector<uint64_t> blocks = {};
  std::optional<Geometry> own = {};  // of a stored level, by the dimensions of the store
};

struct Pyramid {
  std::vector<ImageAxisOfArray> axes;
  std::vector<Level> levels;  // the first is the array itself; all have elements of one type
  Method method = Method::kMean;
};

// Each level after the first has about half as many elements along the axes of space, until
// none of these has more than 256. If the store has smaller levels of the array (the datasets
// of OME-Zarr, the overviews of a TIFF file, the scales of Neuroglancer), these are the levels,
// and no others. Each computed level is made of the full resolution, and not of another level.
// Small floats become float32. kNotFound says why an array has no pyramid. Loads metadata of
// other arrays, and reads no chunk.
model::Result<Pyramid> MakePyramid(const ArrayInput& array);

}  // namespace ndlfs::fs::pyramid
