// SPDX-License-Identifier: MIT
//
// Pictures as their description says: which dimensions pages follow each other along.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "backends/format/tiff/pictures.h"
#include "backends/format/tiff/tiff_source.h"
#include "model/entities.h"
#include "model/error.h"

namespace ndlfs::backends::tiff {

// What becomes one array, with its overviews and masks.
struct Series {
  Picture picture;
  // In whose C order the pages are; none for a single page.
  std::vector<PageDimension> dims;
  // All pages follow the only one of the picture, without directories.
  bool is_contiguous = false;
  // What the description says in addition.
  std::vector<model::Attribute> attributes;
  // The distance of pixels along x, y and z, and its unit.
  std::array<std::optional<double>, 3> spacing;
  std::array<std::string, 3> units;
  std::vector<std::string> notes;  // Node::notes
};

// Uses the description of ImageJ or OME, if there is one that fits; without it, pages are along
// the dimension "page". Fails only if the file cannot be read.
model::Result<std::vector<Series>> MakeSeries(TiffReader& reader,
                                              std::vector<Picture> pictures);

}  // namespace ndlfs::backends::tiff
