// SPDX-License-Identifier: MIT
//
// Grids of HDF-EOS2: the attribute StructMetadata, text in ODL, says where they lie on the
// earth.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/entities.h"

namespace ndlfs::backends::hdf4 {

// A grid as the text describes it. Numbers that are absent are 0, texts empty.
struct EosGrid {
  std::string name;
  uint64_t columns = 0;  // XDim
  uint64_t rows = 0;     // YDim
  // Outer corners, in metres, or in packed degrees (GCTP_GEO).
  bool has_upper_left = false;
  bool has_lower_right = false;
  std::array<double, 2> upper_left = {};
  std::array<double, 2> lower_right = {};
  std::string projection;  // "GCTP_SNSOID"
  std::array<double, 13> parameters = {};
  int zone = 0;
  int sphere = -1;
  std::string registration;  // "HDFE_CORNER"; else pixels have their place in the middle
  std::string origin;        // "HDFE_GD_LL"; else the first pixel is the upper left one
  bool operator==(const EosGrid&) const = default;
};

// The grids of a text. What cannot be understood is left out: the text takes no part in
// reading elements.
std::vector<EosGrid> ReadGrids(std::string_view text);

// Coordinates along one dimension: the first, and the distance of the next.
struct Line {
  double first = 0;
  double step = 0;
};

// Where the pixels of a grid lie, in the words of CF.
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
