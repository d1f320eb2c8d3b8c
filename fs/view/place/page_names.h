// SPDX-License-Identifier: MIT
//
// The names of the pages of an array: the coordinates along its other dimensions, such as
// "2000-01-01" or "level=850 hPa", or the names that the array has for its bands, else that of
// the array. GDAL calls them descriptions of bands. If a pixel has several numbers, each of
// them has a name: those of the first page come first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fs/view/base/number_array.h"
#include "fs/view/place/geometry.h"
#include "model/error.h"

namespace ndlfs::fs {

class PageNames {
 public:
  // The most bytes of a name. All are printable ASCII, and none has a meaning in XML.
  static constexpr size_t kMostBytes = 56;
  // If there are more pages, or numbers in the pixels at one place of all pages, none has one.
  static constexpr uint64_t kMostPages = 65'536;

  // Whether some page may have a name. Reads nothing.
  static bool MayHave(const Geometry& geometry, const Raster& raster);
  // Decodes the coordinates.
  static model::Result<PageNames> Read(const Geometry& geometry, const Raster& raster);

  // Empty if the page has no name.
  std::string Of(uint64_t page) const;

 private:
  // For each dimension that counts pages, the slowest first: how many pages there are, and
  // their names, which are none or as many.
  struct Dimension {
    uint64_t count = 1;
    std::vector<std::string> names = {};
  };
  std::vector<Dimension> dimensions_;
  std::string title_;
};

}  // namespace ndlfs::fs
