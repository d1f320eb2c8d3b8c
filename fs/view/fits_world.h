// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "fs/view/view_input.h"

namespace ndlfs::fs {

// A card of a header of FITS.
struct FitsCard {
  std::string keyword;
  std::string value;  // as text; of a number as FITS writes it
  bool is_text = false;
};

// A number as FITS writes one that is no integer: with a letter E or a point.
std::string RealOfFits(std::string text);

// What the header of the source says of an image of FITS: its world coordinates (FITS 4.0,
// section 8), moved to the part that is shown, and what was observed and when. Empty where the
// array is none, and where no header could say it: a part with a step of an image with
// distortion, or with one index of an axis that belongs to a projection. Reads nothing.
std::vector<FitsCard> WorldCards(const ArrayInput& input);

}  // namespace ndlfs::fs
