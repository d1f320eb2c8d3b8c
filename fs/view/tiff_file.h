// SPDX-License-Identifier: MIT
//
// TIFF 6.0, and BigTIFF where the file is too large for it: uncompressed pages, one strip each.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fs/view/geometry.h"
#include "fs/view/number_array.h"
#include "fs/view/view.h"
#include "model/error.h"

namespace ndlfs::fs {

// The same pages in one resolution.
struct TiffLevel {
  Raster raster;
  std::shared_ptr<const ElementSource> elements;  // raster.pages * page_bytes() of them
};

struct TiffContent {
  // The full resolution, and smaller ones, which become SubIFDs of each page. All have as many
  // pages.
  std::vector<TiffLevel> levels;
  std::string description;        // ImageDescription of the first page; may be empty
  std::string nodata;             // GDAL_NODATA; may be empty
  std::optional<MapPlace> place;  // for GeoTIFF
};

// Whether TIFF has such elements, and pages of that size.
bool FitsTiff(const Raster& raster);

// All directories come before the elements, and those of all pages are equally large: whether
// there is a georeference, which only the coordinates tell, changes nothing about sizes.
// Reads no chunk.
model::Result<ViewPtr> MakeTiff(TiffContent content);

}  // namespace ndlfs::fs
