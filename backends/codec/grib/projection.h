// SPDX-License-Identifier: MIT
//
// Map projections of grids, on a sphere or an ellipsoid, after Snyder, "Map Projections: A
// Working Manual" (USGS 1395). The view of a satellite follows the LRIT/HRIT Global
// Specification (CGMS 03).
#pragma once

#include <cstdint>
#include <memory>
#include <numbers>
#include <optional>

#include "backends/codec/grib/message.h"

namespace ndlfs::backends {

inline constexpr double kGribDegree = std::numbers::pi / 180;  // in radians

struct GribPlace {
  double latitude = 0, longitude = 0;  // degrees
};
// Metres; for a rotated pole degrees, x to the east; for a satellite radians, x to the east.
struct GribMapPoint {
  double x = 0, y = 0;
};

// Immutable. The origin is that of the grid mappings of CF: the meridian orientation_longitude
// (of Mercator, 0), and the latitude standard_latitude (of polar stereographic, the pole; of
// Mercator, the equator).
class GribProjection {
 public:
  virtual ~GribProjection() = default;
  virtual GribMapPoint Forward(const GribPlace& place) const = 0;
  // Longitudes are in (-180, 180]. NaN where the point is no place.
  virtual GribPlace Inverse(const GribMapPoint& point) const = 0;
};

// Null for grids along latitudes and longitudes, for those that this does not know, and for
// numbers that make no projection.
std::shared_ptr<const GribProjection> MakeGribProjection(const GribGrid& grid);

// Columns and rows in the plane of a projection, in the order of the grid.
struct GribMap {
  std::shared_ptr<const GribProjection> projection;  // null for kTransverseMercator
  double x = 0, y = 0;                               // of the first point
  double dx = 0, dy = 0;                             // negative to the west and to the south

  GribMapPoint At(uint64_t column, uint64_t row) const {
    return {x + static_cast<double>(column) * dx, y + static_cast<double>(row) * dy};
  }
};

// nullopt if the grid has no columns and rows, or they are not in such a plane, or are between
// points. Rotated latitudes and longitudes are no plane here.
std::optional<GribMap> MapOfGribGrid(const GribGrid& grid);

}  // namespace ndlfs::backends
