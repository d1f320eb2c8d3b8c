// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "fs/view/base/view_input.h"

namespace ndlfs::fs {

// A card of a header of FITS.
struct FitsCard {
  std::string keyword;
  std::string value;  // as text; a number as FITS writes it
  bool is_text = false;
};

// A real number in the notation of FITS: with a letter E or a point.
std::string RealOfFits(std::string text);

struct FitsWorld {
  std::vector<FitsCard> cards;
  bool has_place = false;  // some of them say where an axis is
};

// The cards of the source's header for an image of FITS: its world coordinates (FITS 4.0,
// section 8), moved to the part or the blocks that are shown, its beam, and what was observed
// and when. Attributes of other formats that have the names of such cards are cards, too. No
// axis has a place if the array is no such image, or if cards cannot express the place of the
// part: its coordinates need tables or distortions that are elsewhere; the part has a step, and
// the image a distortion; or other axes depend on an axis of which the part has one index.
// Reads nothing.
FitsWorld WorldOf(const ArrayInput& input);

// Makes the cards among the attributes of a part of an image of FITS those of the part: those
// of its world coordinates, which are left out if cards cannot express its place.
void MoveCards(const ArrayInput& part, std::vector<model::Attribute>& attributes);

}  // namespace ndlfs::fs
