// SPDX-License-Identifier: MIT
//
// Where the pixels of a grid of HDF-EOS2 lie on the earth, in the words of CF.
#pragma once

#include <optional>
#include <vector>

#include "backends/format/hdf4/struct_metadata.h"
#include "model/entities.h"

namespace ndlfs::backends::hdf4 {

// Coordinates along one dimension: the first, and the distance of the next.
struct Line {
  double first = 0;
  double step = 0;
};

struct GridPlace {
  Line x;
  Line y;
  std::vector<model::Attribute> x_attributes;
  std::vector<model::Attribute> y_attributes;
  std::vector<model::Attribute> mapping;  // of the variable that grid_mapping names
};

// nullopt if the grid says too little, or has a projection that CF has no words for.
std::optional<GridPlace> PlaceOf(const EosGrid& grid);

}  // namespace ndlfs::backends::hdf4
