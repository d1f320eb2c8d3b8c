// SPDX-License-Identifier: MIT
//
// Map projections of grids, after Snyder, "Map Projections: A Working Manual" (USGS 1395), on a
// sphere or an ellipsoid.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "backends/codec/grib/message.h"
#include "model/entities.h"

namespace ndlfs::backends::grib {

struct LatLon {
  double latitude = 0, longitude = 0;  // degrees
};
struct MapPoint {
  double x = 0, y = 0;  // metres; degrees for a rotated pole
};

// Immutable.
class Projection {
 public:
  virtual ~Projection() = default;
  virtual MapPoint Forward(const LatLon& place) const = 0;
  // NaN where the point is no place.
  virtual LatLon Inverse(const MapPoint& point) const = 0;
  // The attributes of a grid mapping variable of CF.
  virtual std::vector<model::Attribute> Mapping() const = 0;
};

// Null for grids along latitudes and longitudes, and for those that this does not know.
std::shared_ptr<const Projection> MakeProjection(const GribGrid& grid);

}  // namespace ndlfs::backends::grib
