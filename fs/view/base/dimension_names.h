// SPDX-License-Identifier: MIT
//
// What names of dimensions say. This is the one place that judges them for pictures, levels
// and pyramids.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fs/view/base/view_input.h"

namespace ndlfs::fs {

enum class DimensionKind : uint8_t {
  kUnknown,   // no name, or one that says nothing
  kRows,      // "y", "lat", "line"
  kColumns,   // "x", "lon", "pixel"
  kDepth,     // "z", the third direction of space
  kVertical,  // "level", "pressure": places whose steps are not alike
  kTime,
  kBands,    // "band", "channel", "wavelength"
  kNoPlace,  // "member", "station": something else, and no place
};

// A name in lower case, without the number of a second one: "band" of "Band_2".
std::string PlainDimension(std::string_view name);

// The kinds of dimensions with these names, which may be empty. Two kinds of names depend on
// the others:
// - "height" is rows if the next dimension is columns, such as "width", and else vertical.
// - "sample" is columns if there are rows and no other columns, as in "line", "sample"; and
//   else the numbers of a pixel.
std::vector<DimensionKind> KindsOf(const std::vector<std::string>& names);
// Those of all dimensions of `array`.
std::vector<DimensionKind> KindsOf(const ArrayInput& array);

// Whether a dimension is surely no row and no column of a picture.
bool IsNoRowOrColumn(DimensionKind kind);

// Whether the name of a dimension says that it counts bands, whatever is around it: "band" or
// "bands", also with a number behind it ("band_2").
bool IsNameOfBands(std::string_view name);
// The channels of images of OME: "c".
bool IsNameOfOmeChannels(std::string_view name);

}  // namespace ndlfs::fs
