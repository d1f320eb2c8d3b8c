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

// Fills `out`, which has grid.points elements, with the geographic coordinate of each point, in
// degrees, row after row in the order of the grid (GribOrder::kRows). For kLatLon and
// kGaussian, also rotated or reduced, projections (MakeGribProjection) and kHealpix. Longitudes
// are in [0, 360) for projections and HEALPix, in (-180, 180] for rotated grids, and otherwise
// as in GribAxis(). Points that a satellite sees next to the earth are NaN. Fails as GribAxis()
// does.
model::Result<void> GribPoints(const GribGrid& grid, GribCoordinate coordinate,
                               std::span<double> out);

// Whether GribPoints() knows the kind of the grid, and where its rows begin.
bool HasGribPoints(const GribGrid& grid);

}  // namespace ndlfs::backends
