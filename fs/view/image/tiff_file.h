// SPDX-License-Identifier: MIT
//
// TIFF 6.0, and BigTIFF where the file is too large for it: uncompressed pages, one strip each.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fs/view/base/number_array.h"
#include "fs/view/elements/view.h"
#include "fs/view/place/geometry.h"
#include "model/error.h"

namespace ndlfs::fs {

// The same pages in one resolution.
struct TiffLevel {
  Raster raster;
  std::shared_ptr<const ElementSource> elements;  // raster.pages * page_bytes() of them
};

// How large pixels are, in one unit that ImageJ has a word for.
struct TiffPixels {
  double width = 0;  // 0 where it is not known
  double height = 0;
  double depth = 0;  // from one page to the next
};

struct TiffContent {
  // The full resolution, and smaller ones, which become SubIFDs of each page. All have as many
  // pages.
  std::vector<TiffLevel> levels;
  std::string description;        // ImageDescription of the first page; may be empty
  std::string nodata;             // GDAL_NODATA; may be empty
  std::optional<MapPlace> place;  // for GeoTIFF
  // The pages are bands of one picture, which GDAL takes them for, and have names.
  bool has_bands = false;
  std::optional<Geometry> names = {};  // where bands may have names: see PageNames
  // The pages of the file, as those of `levels`; nullptr where they are in the same order.
  std::function<uint64_t(uint64_t)> order = nullptr;
  // Reads how large pixels are; nullptr where nobody knows. `describe` then makes the
  // description, of a size that does not depend on its argument.
  std::function<model::Result<TiffPixels>()> read_pixels = nullptr;
  std::function<std::string(const TiffPixels&)> describe = nullptr;
};

// Pictures with more bands are made of pages instead.
inline constexpr uint64_t kMostTiffBands = 65'535;
// A file whose pages are in another order has a segment for each.
inline constexpr uint64_t kMostOrderedPages = 100'000;

// Whether TIFF has such elements, and pages of that size.
bool FitsTiff(const Raster& raster);

// All directories come before the elements, and those of all pages are equally large: whether
// there is a georeference, which only the coordinates tell, changes nothing about sizes.
// Reads no chunk.
model::Result<ViewPtr> MakeTiff(TiffContent content);

}  // namespace ndlfs::fs
