// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "fs/view/picture/drawing/canvas.h"
#include "model/error.h"

namespace ndlfs::fs::picture {

// A PNG file that is filled up by a chunk of zeros before its last chunk, IEND. Readers skip
// that chunk.
struct PngFile {
  std::string head;    // the file as far as the header of the chunk that fills it up
  uint64_t zeros = 0;  // how many zeros this chunk has
  std::string tail;    // its checksum, and IEND
  uint64_t size() const { return head.size() + zeros + tail.size(); }
};

// For EncodePng(): keeps every colour, three bytes a pixel.
constexpr size_t kAllColours = 0;

// `canvas` as a PNG file, with at most `colours` colours: 2 to 256 (see AsIndexed()), or
// kAllColours. `kept` is as in AsIndexed().
model::Result<std::string> EncodePng(const Canvas& canvas, size_t colours,
                                     std::span<const Colour> kept = {});

// FillUp() makes a file larger by at least so much.
constexpr uint64_t kFillBytes = 12;

// Fills up `png`, which EncodePng() has made, to a file of `size` bytes: at least kFillBytes
// more.
model::Result<PngFile> FillUp(std::string png, uint64_t size);

}  // namespace ndlfs::fs::picture
