// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>

#include "backends/codec/grib/message.h"
#include "model/error.h"

namespace ndlfs::backends {

// Read a grid of section 3 of edition 2, or of section 2 of edition 1. Fail with kCorrupt if
// the section is too short for its template, or its numbers of points contradict each other.
// `section` is whole.
model::Result<std::shared_ptr<const GribGrid>> ParseGribGrid2(GribSection section);
model::Result<std::shared_ptr<const GribGrid>> ParseGribGrid1(GribSection section);

// The part of a row of a reduced grid that is within the longitudes of the grid. Its points are
// multiples of 360 degrees / `circle`, the points that the row would have around the earth.
struct GribRowPart {
  int64_t first = 0;  // the multiple of the first point
  uint32_t points = 0;
};
GribRowPart CutGribRow(const GribGrid& grid, uint32_t circle);

}  // namespace ndlfs::backends
