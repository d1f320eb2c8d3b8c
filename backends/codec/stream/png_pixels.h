// SPDX-License-Identifier: MIT
//
// The rows of PNG pictures as they are stored: big-endian samples, the samples of a pixel
// together, each row in whole bytes. Only in builds with libpng.
#pragma once

#include <cstdint>

#include "backends/base/bytes.h"
#include "model/error.h"

namespace ndlfs::backends {

struct PngHeader {
  uint64_t width = 0, height = 0;
  unsigned depth = 0;    // bits of a sample
  unsigned samples = 0;  // of a pixel: grey, grey and alpha, RGB, RGBA
  unsigned bits() const { return depth * samples; }
  uint64_t row_bytes() const { return (width * bits() + 7) / 8; }
};

// kUnsupported for pictures with a palette.
model::Result<PngHeader> ReadPngHeader(ConstByteSpan data);

// Fills `pixels`, which has the rows that `header` tells.
model::Result<void> DecodePng(ConstByteSpan data, const PngHeader& header, ByteSpan pixels);

}  // namespace ndlfs::backends
