// SPDX-License-Identifier: MIT
//
// A bar of a round length in a picture, which tells how large things are.
#pragma once

#include <optional>
#include <string>

namespace ndlfs::fs::picture {

struct ScaleBar {
  double part = 0;    // of the width of the picture: 0.1 to 0.25
  std::string label;  // "20 µm"
};

// The longest bar of 1, 2 or 5 times a power of ten that is at most a quarter of the width of
// the picture, in the unit in which its number is 1 to 500, or in nanometres. nullopt if the
// width is no length, or so small or large that there is no usual unit for it.
std::optional<ScaleBar> ChooseScaleBar(double width_in_metres);

}  // namespace ndlfs::fs::picture
