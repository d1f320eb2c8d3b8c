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

// Of categories, which have no order; after 12 they repeat.
Colour CategoryColour(size_t i);

}  // namespace ndlfs::fs::picture
