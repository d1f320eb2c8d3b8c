// SPDX-License-Identifier: MIT
//
// TIFF 6.0, and BigTIFF if the file is too large for it: uncompressed pages, one strip each.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fs/view/base/number_array.h"
#include "fs/view/elements/view.h"
#include "fs/view/place/geometry.h"
#include "model/error.h"

namespace ndlfs::fs {

// The same pages in one resolution.
struct TiffLevel {
  Raster raster;
  std::shared_ptr<const ElementSource> elements;  // raster.pages * page_bytes() bytes
};

// The size of pixels, in a unit that ImageJ has a word for, or in centimetres.
struct TiffPixels {
  double width = 0;  // 0 if it is not known
  double height = 0;
  double depth = 0;    // from one page to the next
  double seconds = 0;  // from one frame to the next
};

struct TiffContent {
  // The full resolution, and smaller ones, which become SubIFDs of each page. All have the same
  // number of pages.
  std::vector<TiffLevel> levels;
  std::string description;        // ImageDescription of the first page; may be empty
  std::string nodata;             // GDAL_NODATA; may be empty
  std::optional<MapPlace> place;  // for GeoTIFF
  // The pages are bands of one picture, as GDAL assumes, and have names.
  bool has_bands = false;
  // If bands, or the samples of the only page, may have names: see PageNames.
  std::optional<Geometry> names = {};
  // What GDAL says of each band, or of all if there is one item: by the roles of its metadata,
  // "scale", "unittype". The values are texts of XML.
  std::vector<std::vector<std::pair<std::string_view, std::string>>> of_bands = {};
  // Maps pages of the file to pages of `levels`; nullptr if they are in the same order.
  std::function<uint64_t(uint64_t)> order = nullptr;
  // Reads the size of pixels; nullptr if it is not known. `describe` then makes the
  // description, whose size does not depend on its argument.
  std::function<model::Result<TiffPixels>()> read_pixels = nullptr;
  bool is_in_centimetres = false;  // the size of pixels; else the description has their unit
  std::function<std::string(const TiffPixels&)> describe = nullptr;
};

// If there are more bands, the file has pages instead.
inline constexpr uint64_t kMostTiffBands = 65'535;
// The most pages of a file whose pages are in another order: it has a segment for each.
inline constexpr uint64_t kMostOrderedPages = 100'000;

// Whether TIFF has such elements, and pages of that size.
bool FitsTiff(const Raster& raster);

// All directories come before the elements, and the directories of all pages have the same
// size. Only the coordinates tell whether there is a georeference, so sizes do not depend on
// it. Reads no chunk.
model::Result<ViewPtr> MakeTiff(TiffContent content);

}  // namespace ndlfs::fs
