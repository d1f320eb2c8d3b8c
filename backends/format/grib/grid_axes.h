// SPDX-License-Identifier: MIT
//
// Where the points of a grid are: dimensions, coordinates and attributes by the conventions of
// CF, as far as they can be computed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "backends/codec/grib/message.h"
#include "backends/format/computed_source.h"
#include "model/entities.h"

namespace ndlfs::backends::grib {

struct GridDimension {
  std::string name;
  uint64_t size = 0;
  bool operator==(const GridDimension&) const = default;
};

struct GridCoordinate {
  std::string name;          // that of a dimension, or "latitude", "longitude"
  std::vector<size_t> dims;  // of GridAxes::dims
  std::variant<ElementAt, FillElements> values;
  std::vector<model::Attribute> attributes;
};

struct GridAxes {
  std::string type;                 // "regular_ll", by ecCodes' names
  std::vector<GridDimension> dims;  // y and x, or `values` alone; their product is the points
  std::vector<GridCoordinate> coordinates;
  // The attributes of the variable that describes the projection; empty if there is none.
  std::vector<model::Attribute> mapping;
  std::vector<model::Attribute> attributes;  // of arrays: GRIB_Nx ...
  std::string note;  // why there is no latitude and longitude; empty if there is
};

// `grid` may be null: the message only numbers its grid.
GridAxes DescribeGrid(const std::shared_ptr<const GribGrid>& grid, uint64_t points);

}  // namespace ndlfs::backends::grib
