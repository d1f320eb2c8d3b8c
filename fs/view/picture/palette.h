// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fs/view/picture/canvas.h"

namespace ndlfs::fs::picture {

// The pixels of a picture as numbers of colours.
struct Indexed {
  std::vector<Colour> colours;  // from dark to light
  std::vector<uint8_t> pixels;  // row after row
};

// With at most `most` colours, 2 to 256. A picture that has no more keeps all of them; of
// others, each colour becomes the most frequent one of those that are like it.
Indexed AsIndexed(const Canvas& canvas, size_t most);

}  // namespace ndlfs::fs::picture
