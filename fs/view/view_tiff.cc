// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <string>
#include <utility>

#include "fs/view/geometry.h"
#include "fs/view/number_array.h"
#include "fs/view/raw_header.h"
#include "fs/view/tiff_file.h"
#include "fs/view/view_kinds.h"

namespace ndlfs::fs {
namespace {

struct Picture {
  NumberArray numbers;
  Raster raster;
};

std::optional<Picture> FittingTiff(const ArrayInput& input) {
  const auto numbers = AsNumbers(input);
  if (!numbers) return std::nullopt;
  const auto raster = AsRaster(input, *numbers);
  if (!raster || !FitsTiff(*raster)) return std::nullopt;
  return Picture{*numbers, *raster};
}

// ImageJ reads the first directory only, and finds the other pages behind that one's by this
// text. Of four dimensions it shows two sliders.
std::string DescribeStack(const Picture& picture) {
  const Raster& raster = picture.raster;
  if (raster.pages < 2) return {};
  std::string text = fmt::format("ImageJ=1.53t\nimages={}\n", raster.pages);
  const bool has_frames = raster.y_axis == 2;
  if (has_frames) {
    const auto& shape = picture.numbers.shape;
    text += fmt::format("slices={}\nframes={}\nhyperstack=true\n", shape[1], shape[0]);
  } else {
    text += fmt::format("slices={}\n", raster.pages);
  }
  return text + "loop=false\n";
}

model::Result<ViewPtr> MakeTiff(const ArrayInput& input) {
  const auto picture = FittingTiff(input);
  if (!picture) return model::Unsupported("no TIFF of {}", input.dtype.keyword());
  NDLFS_TRY(const Geometry geometry, DescribeGeometry(input, picture->numbers));
  TiffContent content;
  content.levels.push_back({picture->raster, picture->numbers.elements});
  content.description = DescribeStack(*picture);
  content.nodata = MissingText(input);
  content.place = FindMapPlace(geometry, picture->raster);
  return MakeTiff(std::move(content));
}

}  // namespace

const ArrayViewKind kTiffView = {
    .file_name = "data.tif",
    .applies_to = [](const ArrayInput& input) { return FittingTiff(input).has_value(); },
    .is_listed = [](const ArrayInput&) { return false; },
    .make = &MakeTiff,
};

}  // namespace ndlfs::fs
