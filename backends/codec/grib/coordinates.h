// SPDX-License-Identifier: MIT
//
// Where the points of a grid are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backends/codec/grib/message.h"
#include "model/error.h"

namespace ndlfs::backends {

enum class GribCoordinate : uint8_t { kLatitude, kLongitude };

// Whether the grid has one latitude for each row and one longitude for each column: kLatLon,
// and kGaussian that is not reduced.
bool HasGribAxes(const GribGrid& grid);

// The latitudes of the rows (also of a reduced grid), or the longitudes of the columns, in
// degrees and in the order of the grid. As in eccodes, longitudes go on evenly from the first
// one, which is reduced by 360 if the grid goes beyond 360. Needs HasGribAxes(), or kLatitude
// of a reduced kGaussian or kLatLon. Fails with kUnsupported for other grids, and kCorrupt if
// the grid's numbers cannot be.
model::Result<std::vector<double>> GribAxis(const GribGrid& grid, GribCoordinate coordinate);

// The x (kLongitude) or y (kLatitude) of the columns or rows of kMercator, kPolarStereographic
// and kLambert, in metres from the origin of the projection: the meridian orientation_longitude
// (of Mercator, 0), and the pole (of Mercator, the equator). Of Lambert, y is 0 at `latin1`.
model::Result<std::vector<double>> GribProjectedAxis(const GribGrid& grid,
                                                     GribCoordinate coordinate);

// Fills `out`, which has grid.points elements, with the geographic coordinate of each point, in
// degrees, row after row in the order of the grid (GribOrder::kRows). For kLatLon, kGaussian,
// both also rotated or reduced, kMercator, kPolarStereographic and kLambert. Longitudes are in
// [0, 360) for projections, in [-180, 180) for rotated grids, and otherwise as in GribAxis().
// Fails as GribAxis() does.
model::Result<void> GribPoints(const GribGrid& grid, GribCoordinate coordinate,
                               std::span<double> out);

// Whether GribPoints() knows the kind of the grid, and where its rows begin.
bool HasGribPoints(const GribGrid& grid);

}  // namespace ndlfs::backends
