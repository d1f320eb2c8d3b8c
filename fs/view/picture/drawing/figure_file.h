// SPDX-License-Identifier: MIT
//
// Figures as files whose size is known before anything is painted.
#pragma once

#include <cstdint>

#include "fs/view/picture/drawing/figure.h"
#include "fs/view/picture/drawing/png_file.h"
#include "model/error.h"

namespace ndlfs::fs::picture {

// The smallest and the largest files. A picture should not cost much more than the elements
// that it shows.
constexpr uint64_t kLeastFileBytes = uint64_t{6} << 10;
constexpr uint64_t kMostFileBytes = uint64_t{64} << 10;
constexpr uint64_t kMostThumbnailBytes = uint64_t{16} << 10;

// Fails if nobody waits for the picture any more. It is asked before each try to encode it.
using MayGoOn = model::Result<void> (*)();

// The size of the file of a figure that shows `bytes` bytes of elements: as many, in steps of 4
// KiB, but within the limits above.
uint64_t FigureFileSize(uint64_t bytes);
uint64_t ThumbnailFileSize(uint64_t bytes);

// The figure in a file of `size` bytes, at least kLeastFileBytes, with as many details as fit:
// cells become coarser first, then there are fewer colours, then the whole figure is smaller,
// and at last titles and axes are left out.
model::Result<PngFile> EncodeFigure(const Figure& figure, uint64_t size, MayGoOn may_go_on);

// The same for the content of the figure without titles and axes, kThumbnailWidth wide.
model::Result<PngFile> EncodeThumbnail(const Figure& figure, uint64_t size, MayGoOn may_go_on);

}  // namespace ndlfs::fs::picture
