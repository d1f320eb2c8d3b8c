// SPDX-License-Identifier: MIT
//
// The coordinates of the earth that numbers along two axes are, by CF's grid mappings, and by
// the attributes of GDAL, GeoZarr and rasterio. All files with a place ask here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fs/view/base/view_input.h"
#include "model/entities.h"
#include "model/error.h"

namespace ndlfs::fs {

struct Ellipsoid {
  double semi_major = 6378137;
  double inverse_flattening = 298.257223563;  // 0: a sphere
  bool is_known = false;                      // the store tells it; else it is that of WGS 84
  bool operator==(const Ellipsoid&) const = default;
};

// A projection of CF in the terms of GeoTIFF.
struct GeoTiffProjection {
  uint16_t method = 0;                                 // ProjCoordTransGeoKey
  std::vector<std::pair<uint16_t, double>> keys = {};  // its parameters, ascending
  Ellipsoid ellipsoid = {};
};

struct ReferenceSystem {
  enum class Kind : uint8_t {
    kUnknown,
    kGeographic,  // degrees of longitude and latitude
    kRotated,     // the same for another pole
    kProjected,   // metres
  };
  Kind kind = Kind::kUnknown;
  std::optional<int> epsg;  // its code, of at most 16 bits
  // WKT, PROJJSON or a PROJ string on one line, taken from the store, or made of CF's
  // parameters; may be empty.
  std::string text;
  std::optional<GeoTiffProjection> projection;
  // For coordinates that are angles seen from a satellite: metres for a radian.
  std::optional<double> metres_of_radian;
  // GDAL's six numbers in an attribute of the grid mapping; empty if there are none.
  std::vector<double> transform;
};

// Reads the attributes of one object: a grid mapping, an array or a group.
ReferenceSystem ReadReferenceSystem(const std::vector<model::Attribute>& attributes);

// The system of an array: by its `grid_mapping`, else by its own attributes, a variable
// `spatial_ref` or `crs`, or the groups around it. Loads them, but reads no chunk. Every error
// is transient.
model::Result<ReferenceSystem> FindReferenceSystem(const ArrayInput& array);

// Whether it makes sense to load something again later. Not if the caller may not read it: the
// file is the same without it then.
bool IsWorthRetrying(const model::Error& error);

}  // namespace ndlfs::fs
