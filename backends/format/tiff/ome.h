// SPDX-License-Identifier: MIT
//
// The description that OME-TIFF has in its first directory: OME-XML, as
// docs.openmicroscopy.org/ome-model (OME-TIFF specification) defines it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/error.h"

namespace ndlfs::backends::tiff {

// Planes of an image that are directories of a file, one after the other.
struct OmeTiffData {
  uint64_t directory = 0;  // the first
  // The plane that this is; the others follow in the order of the dimensions.
  uint64_t z = 0, c = 0, t = 0;
  std::optional<uint64_t> count;  // of planes; nullopt: one, or all if nothing says where
  bool has_directory = false;
  std::string uuid;  // of the file; empty: this one
  std::string file_name;
};

// A plane: a directory in the file of a TiffData.
struct OmePlane {
  uint64_t directory = 0;
  size_t data = 0;  // in OmeImage::data
};

struct OmeImage {
  std::string name;
  std::string order;  // "XYZCT": X and Y, then the dimension along which planes follow
  uint64_t x = 0, y = 0, z = 1, c = 1, t = 1;
  // The size of a pixel along x, y and z and the time of a frame, and its unit.
  std::array<std::optional<double>, 4> spacing;
  std::array<std::string, 4> units;
  std::vector<std::string> channels;            // names
  std::vector<std::optional<uint32_t>> colors;  // of the channels, 0xRRGGBB
  std::vector<OmeTiffData> data;
};

struct OmeFile {
  std::string uuid;
  std::string companion;  // the name of the file that has the description, if not this one
  std::vector<OmeImage> images;
};

// Whether a description is OME-XML.
bool IsOme(const std::string& description);

// kBadInput for other XML, and for sizes and orders that cannot be.
model::Result<OmeFile> ReadOme(const std::string& description);

// Each plane, in C order of (t, c, z); nullopt for those that no TiffData
// names. `channels`: how many there are, each of which may be several samples of a pixel.
// kLimit for more planes than files have, kBadInput for planes outside of the image.
model::Result<std::vector<std::optional<OmePlane>>> PlanesOf(const OmeImage& image,
                                                             uint64_t channels);

}  // namespace ndlfs::backends::tiff
