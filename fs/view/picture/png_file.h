// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "fs/view/picture/canvas.h"
#include "model/error.h"

namespace ndlfs::fs::picture {

// What the file of a canvas of kFigureWidth and kFigureHeight occupies, whatever is painted on
// it (see figure.h): with at most 256 colours, or with any.
constexpr uint64_t kPaletteFileBytes = uint64_t{512} << 10;
constexpr uint64_t kColourFileBytes = uint64_t{2} << 20;

// A PNG file that a chunk of zeros fills up before its last chunk, IEND. Readers skip it.
struct PngFile {
  std::string head;    // the file as far as the header of the chunk that fills it up
  uint64_t zeros = 0;  // what this chunk holds
  std::string tail;    // its checksum, and IEND
  uint64_t size() const { return head.size() + zeros + tail.size(); }
};

enum class PngColours : uint8_t {
  kPalette,  // 256; others are shown as the nearest of these
  kAll,
};

// kInternal where the picture does not fit in `size` bytes, or libpng fails.
model::Result<PngFile> EncodePng(const Canvas& canvas, PngColours colours, uint64_t size);

}  // namespace ndlfs::fs::picture
