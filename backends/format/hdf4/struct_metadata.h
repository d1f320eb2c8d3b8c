// SPDX-License-Identifier: MIT
//
// The attribute StructMetadata of HDF-EOS2: text in ODL that says where grids lie on the earth.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace ndlfs::backends::hdf4
