// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fs/view/picture/drawing/canvas.h"

namespace ndlfs::fs::picture {

// The pixels of a picture as numbers of colours.
struct Indexed {
  std::vector<Colour> colours;  // from dark to light
  std::vector<uint8_t> pixels;  // row after row
};

// Uses at most `most` colours, 2 to 256. If the picture has no more, it keeps all of them;
// otherwise each colour becomes the most frequent one among those that are like it. The first
// colours of `kept`, at most half of `most`, stay as they are, and no other colour becomes one
// of them.
Indexed AsIndexed(const Canvas& canvas, size_t most, std::span<const Colour> kept = {});

}  // namespace ndlfs::fs::picture
