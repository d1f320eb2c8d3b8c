// SPDX-License-Identifier: MIT
//
// The dimensions of an array as the axes of an image of OME-Zarr.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fs/view/base/view_input.h"
#include "model/error.h"

namespace ndlfs::fs::pyramid {

enum class AxisType : uint8_t { kTime, kChannel, kOther, kSpace };

struct ImageAxisOfArray {
  size_t dimension = 0;  // of the array
  std::string name;      // not empty, and unique
  AxisType type = AxisType::kOther;
  // Levels have fewer elements along it: a space of the picture, or the depth of a volume. Not
  // the height or pressure of maps, of which some are worth as much as many pixels.
  bool is_halved = false;
};

// All dimensions of `array` in the order that OME-Zarr 0.5 demands: time, then one channel or
// other axis, then two or three of space. By what images of OME-Zarr and dimensions are called;
// without names the last two are those of the picture. kNotFound says why there are no such
// axes. May read attributes of the group.
model::Result<std::vector<ImageAxisOfArray>> FindAxes(const ArrayInput& array);

}  // namespace ndlfs::fs::pyramid
