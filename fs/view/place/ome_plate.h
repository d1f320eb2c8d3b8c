// SPDX-License-Identifier: MIT
//
// Plates and wells of OME-Zarr (0.1 to 0.6): groups of images that lie in rows and columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/format/hierarchy.h"
#include "fs/view/base/view_input.h"

namespace ndlfs::fs {

// A well that has a place in the layout.
struct OmeWell {
  std::string path;  // below the group of the plate: two names with a slash between them
  uint32_t row = 0;
  uint32_t column = 0;
};

struct OmePlate {
  std::string name;                  // may be empty
  std::vector<std::string> rows;     // their names, from the top
  std::vector<std::string> columns;  // from the left
  std::vector<OmeWell> wells;        // by row and column, one at each place
  // A sentence for each kind of wells that are left out.
  std::vector<std::string> left_out;
  uint64_t all_wells = 0;  // that the metadata list
};

// The most rows, columns and wells of a plate. Plates of 3456 wells have 48 by 72.
inline constexpr size_t kMostPlateRows = 128;
inline constexpr size_t kMostPlateColumns = 128;
inline constexpr size_t kMostPlateWells = 4096;

// The plate that `plate` describes, which is an attribute of its own, or in `ome` since 0.5.
// nullopt if the group is no plate. A plate whose description cannot be used has no wells, and
// `left_out` tells why.
std::optional<OmePlate> FindOmePlate(const backends::Node& group);

// The path of the first image of a well, its first field, below the group of the well. nullopt
// if the group is no well, or lists no image.
std::optional<std::string> FindOmeField(const backends::Node& group);

// Whether the group has a picture: it is an image, or a well with a field.
bool HasOmePicture(const backends::Node& group);

// The full resolution of the image that stands for the group: its own, or that of the first
// field of a well. Loads metadata.
model::Result<ArrayInput> LoadOmePicture(const GroupInput& group);

}  // namespace ndlfs::fs
