// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "fs/view/picture/drawing/canvas.h"
#include "model/error.h"

namespace ndlfs::fs::picture {

// A PNG file that a chunk of zeros fills up before its last chunk, IEND. Readers skip it.
struct PngFile {
  std::string head;    // the file as far as the header of the chunk that fills it up
  uint64_t zeros = 0;  // what this chunk holds
  std::string tail;    // its checksum, and IEND
  uint64_t size() const { return head.size() + zeros + tail.size(); }
};

// Every colour as it is, three bytes a pixel.
constexpr size_t kAllColours = 0;

// `canvas` as a PNG file, with at most `colours` colours: 2 to 256 (see AsIndexed()), or
// kAllColours. `kept` is as in AsIndexed().
model::Result<std::string> EncodePng(const Canvas& canvas, size_t colours,
                                     std::span<const Colour> kept = {});

// A file that FillUp() makes at least so much larger.
constexpr uint64_t kFillBytes = 12;

// `png`, which EncodePng() has made, in a file of `size` bytes: at least kFillBytes more.
model::Result<PngFile> FillUp(std::string png, uint64_t size);

}  // namespace ndlfs::fs::picture
