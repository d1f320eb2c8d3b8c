// SPDX-License-Identifier: MIT
//
// Smaller versions of an array that its store declares: levels of images of OME-Zarr and
// Neuroglancer, and the layout of the multiscales of GeoZarr, which TIFF files with overviews
// have here, too.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fs/view/base/view_input.h"
#include "model/error.h"

namespace ndlfs::fs {

// The dimensions of a picture, and how many elements are enough for it.
struct LevelNeed {
  size_t x = 0;
  size_t y = 0;
  uint64_t columns = 1;
  uint64_t rows = 1;
};

// The smallest level that shows the same as `array` and still has the columns or the rows of
// `need`. It has the type of `array` and its other dimensions, only that the z of a volume may
// be smaller, too. Returns `array` if there is none. Loads the metadata of levels. Every error
// is transient.
model::Result<ArrayInput> FindSmallerLevel(const ArrayInput& array, const LevelNeed& need);

}  // namespace ndlfs::fs
