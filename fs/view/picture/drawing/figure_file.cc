// SPDX-License-Identifier: MIT
#include "fs/view/picture/drawing/figure_file.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <variant>

namespace ndlfs::fs::picture {
namespace {

using model::Result;

// With how many details a figure is painted.
struct Detail {
  int shrink = 1;        // so many pixels of the canvas are one of the file, in each direction
  size_t colours = 256;  // at most
  int block = 1;         // see PaintFigure()
};

constexpr Detail kFigureDetails[] = {
    {1, 256, 1}, {1, 256, 2}, {1, 128, 3}, {1, 64, 3}, {1, 64, 4},
    {1, 32, 6},  {2, 64, 1},  {2, 32, 4},  {2, 16, 4}, {2, 16, 8},
    {2, 8, 8},   {2, 8, 16},  {2, 4, 16},  {3, 8, 24}, {3, 4, 48},
};
// Where the figure is half as large from the beginning: files of small arrays.
constexpr size_t kFirstSmall = 6;
constexpr uint64_t kSmallFile = uint64_t{16} << 10;

constexpr int kThumbnailShrink = 3;
constexpr Detail kThumbnailDetails[] = {
    {kThumbnailShrink, 256, 1},  {kThumbnailShrink, 64, 3},  {kThumbnailShrink, 64, 6},
    {kThumbnailShrink, 32, 9},   {kThumbnailShrink, 16, 12}, {kThumbnailShrink, 16, 18},
    {kThumbnailShrink, 8, 24},   {kThumbnailShrink, 8, 48},  {kThumbnailShrink, 4, 96},
    {kThumbnailShrink, 2, 1000},
};

bool IsPhoto(const Figure& figure) { return std::holds_alternative<Photo>(figure.content); }

// Whether it is worth while to try `next`, after a file with `tried` was `size` bytes: a file
// of noise is as large as it has cells.
bool IsPromising(const Detail& next, const Detail& tried, uint64_t size, uint64_t most) {
  constexpr double kHope = 0.7;
  if (next.shrink != tried.shrink || next.block <= tried.block) return true;
  const double fewer = std::pow(static_cast<double>(next.block) / tried.block, 2);
  const double colours = std::log2(static_cast<double>(next.colours)) /
                         std::log2(static_cast<double>(tried.colours));
  return static_cast<double>(size) / fewer * colours * kHope <= static_cast<double>(most);
}

// The first file that has room in `size` bytes; empty if none has. `paint` makes the canvas.
template <typename Paint>
Result<std::string> EncodeFirst(const Figure& figure, std::span<const Detail> details,
                                uint64_t size, MayGoOn may_go_on, const Paint& paint) {
  const uint64_t most = size - kFillBytes;
  const Detail* tried = nullptr;
  uint64_t last_size = 0;
  for (const Detail& detail : details) {
    if (tried != nullptr && !IsPromising(detail, *tried, last_size, most)) continue;
    NDLFS_RETURN_IF_ERROR(may_go_on());
    Canvas canvas = paint(detail.block);
    if (detail.shrink > 1) canvas = canvas.Shrunk(detail.shrink);
    if (IsPhoto(figure) && tried == nullptr && detail.block == 1) {
      NDLFS_TRY(std::string photo, EncodePng(canvas, kAllColours));
      if (photo.size() <= most) return photo;
      NDLFS_RETURN_IF_ERROR(may_go_on());
    }
    NDLFS_TRY(std::string png, EncodePng(canvas, detail.colours, kFigureColours));
    if (png.size() <= most) return png;
    tried = &detail;
    last_size = png.size();
  }
  return std::string();
}

uint64_t FileSize(uint64_t bytes, uint64_t most) {
  constexpr uint64_t kStep = uint64_t{4} << 10;
  if (bytes >= most) return most;
  return std::clamp((bytes + kStep - 1) / kStep * kStep, kLeastFileBytes, most);
}

}  // namespace

uint64_t FigureFileSize(uint64_t bytes) { return FileSize(bytes, kMostFileBytes); }
uint64_t ThumbnailFileSize(uint64_t bytes) { return FileSize(bytes, kMostThumbnailBytes); }

Result<PngFile> EncodeFigure(const Figure& figure, uint64_t size, MayGoOn may_go_on) {
  if (size < kLeastFileBytes) return model::Internal("a picture of {} bytes", size);
  const std::span all(kFigureDetails);
  NDLFS_TRY(std::string png,
            EncodeFirst(figure, all.subspan(size < kSmallFile ? kFirstSmall : 0), size,
                        may_go_on, [&](int block) { return PaintFigure(figure, block); }));
  if (png.empty()) return EncodeThumbnail(figure, size, may_go_on);
  return FillUp(std::move(png), size);
}

Result<PngFile> EncodeThumbnail(const Figure& figure, uint64_t size, MayGoOn may_go_on) {
  if (size < kLeastFileBytes) return model::Internal("a picture of {} bytes", size);
  NDLFS_TRY(std::string png,
            EncodeFirst(figure, kThumbnailDetails, size, may_go_on, [&](int block) {
              return PaintAlone(figure, kThumbnailWidth * kThumbnailShrink, block);
            }));
  return FillUp(std::move(png), size);
}

}  // namespace ndlfs::fs::picture
