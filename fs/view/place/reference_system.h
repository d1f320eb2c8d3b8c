// SPDX-License-Identifier: MIT
//
// Which coordinates of the earth the numbers along two axes are: by CF's grid mappings, and by
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
  bool is_known = false;                      // the store says it; else it is that of WGS 84
  bool operator==(const Ellipsoid&) const = default;
};

// A projection of CF as GeoTIFF has it.
struct GeoTiffProjection {
  uint16_t method = 0;                                 // ProjCoordTransGeoKey
  std::vector<std::pair<uint16_t, double>> keys = {};  // its parameters, ascending
  Ellipsoid ellipsoid = {};
};

struct ReferenceSystem {
  enum class Kind : uint8_t {
    kUnknown,
    kGeographic,  // degrees of longitude and latitude
    kRotated,     // the same of another pole
    kProjected,   // metres
  };
  Kind kind = Kind::kUnknown;
  std::optional<int> epsg;  // its code, of at most 16 bits
  // WKT, PROJJSON or a PROJ string on one line, as the store has it, or made of CF's
  // parameters; may be empty.
  std::string text;
  std::optional<GeoTiffProjection> projection;
  // For coordinates that are angles seen from a satellite: metres for a radian.
  std::optional<double> metres_of_radian;
  // GDAL's six numbers in an attribute of the grid mapping; empty where there are none.
  std::vector<double> transform;
};

// By the attributes of one object: a grid mapping, an array or a group.
ReferenceSystem ReadReferenceSystem(const std::vector<model::Attribute>& attributes);

// That of an array: of its `grid_mapping`, else of its own attributes, a variable `spatial_ref`
// or `crs`, or the groups around it. Loads them, but reads no chunk. An error is one that may
// pass.
model::Result<ReferenceSystem> FindReferenceSystem(const ArrayInput& array);

// Whether an error of loading something is worth trying again. What is closed to the caller
// stays closed: a file is the same without it.
bool MayPass(const model::Error& error);

}  // namespace ndlfs::fs
