// SPDX-License-Identifier: MIT
//
// Where the pixels of an image lie on the earth (OGC GeoTIFF 1.1).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/format/tiff/directory.h"
#include "model/entities.h"
#include "model/error.h"

namespace ndlfs::backends::tiff {

// A value of the GeoKeyDirectory.
struct GeoKey {
  uint16_t id = 0;
  std::optional<uint16_t> code;  // of a key with a short value
  std::vector<double> numbers;
  std::string text;
  bool operator==(const GeoKey&) const = default;
};

struct Place {
  // x = t[0] + column * t[1] + row * t[2], y = t[3] + column * t[4] + row * t[5]: as GDAL's
  // geotransform, for the corner of a pixel. nullopt if the fields give none.
  std::optional<std::array<double, 6>> transform;
  std::vector<GeoKey> keys;  // by id
  bool operator==(const Place&) const = default;

  // The value of a key with a short value.
  std::optional<uint16_t> CodeOf(uint16_t id) const;
  // Whether rows and columns are along the axes, so that there are coordinates x and y.
  bool has_coordinates() const {
    return transform && (*transform)[2] == 0 && (*transform)[4] == 0 && (*transform)[1] != 0 &&
           (*transform)[5] != 0;
  }
  bool is_geographic() const;
  bool is_point() const;  // elements are samples at points
};

// nullopt if the directory has no such field. Fields that cannot be understood give no place;
// a transient error if they cannot be read now.
model::Result<std::optional<Place>> ReadPlace(TiffReader& reader, const Directory& directory);

// The attributes of the variable `spatial_ref`, as CF, GDAL and rioxarray have them.
std::vector<model::Attribute> AttributesOfPlace(const Place& place);
// The attributes of the coordinates x (or y).
std::vector<model::Attribute> AttributesOfAxis(const Place& place, bool is_x);

}  // namespace ndlfs::backends::tiff
