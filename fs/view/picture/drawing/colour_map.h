// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "fs/view/picture/drawing/canvas.h"

namespace ndlfs::fs::picture {

// Colours of a map: few enough that a picture of noise still has less than a byte a pixel.
constexpr size_t kMapColours = 128;

enum class ColourMap : uint8_t {
  kSequential,  // dark to light: equal steps look equal
  kDiverging,   // blue, nearly white, red: from below zero to above
};

// Colour `i` of kMapColours.
Colour MapColour(ColourMap map, size_t i);

// The colour of a category. Categories have no order; colours repeat after 12.
Colour CategoryColour(size_t i);

// The colour of an object by its number, which is always the same. The first 12 are those of
// categories; they repeat after kLabelColours.
constexpr size_t kLabelColours = 180;
Colour LabelColour(size_t i);

}  // namespace ndlfs::fs::picture
