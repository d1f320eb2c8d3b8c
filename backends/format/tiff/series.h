// SPDX-License-Identifier: MIT
//
// Pictures as their description says: which dimensions pages follow each other along.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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
  // Names of files with pages in addition to this one (PageChunks::file), below its folder.
  std::vector<std::string> others;
  // What the description says in addition.
  std::vector<model::Attribute> attributes;
  // The distance of pixels along x, y, z and t, and its unit.
  std::array<std::optional<double>, 4> spacing;
  std::array<std::string, 4> units;
  std::vector<std::string> notes;  // Node::notes
};

// The store of another file in the folder of a file.
using OpenFileOf = std::function<std::shared_ptr<const Store>(const std::string& name)>;

// Uses the description of ImageJ, OME or MetaMorph, if there is one that fits; without it,
// pages are along the dimension "page". `file_name`: of the file, as a set of files names it.
// Fails only if the file cannot be read.
model::Result<std::vector<Series>> MakeSeries(TiffReader& reader, Pictures pictures,
                                              std::string_view file_name,
                                              const OpenFileOf& open_other);

}  // namespace ndlfs::backends::tiff
