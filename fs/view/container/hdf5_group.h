// SPDX-License-Identifier: MIT
//
// Describes a group and everything below it as an HDF5 file that netCDF-C reads as netCDF-4.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "backends/format/hdf5/new_file.h"
#include "fs/view/base/view_input.h"
#include "fs/view/elements/element_source.h"
#include "model/error.h"

namespace ndlfs::fs::hdf5 {

// Limits for a file, so that it is made within seconds.
struct Limits {
  uint64_t objects = 50'000;  // groups, arrays and links
  // Bytes of elements of variable size, of all arrays together: they are decoded and written.
  uint64_t variable_bytes = uint64_t{64} << 20;
  size_t depth = 200;  // of groups
};

struct Content {
  std::shared_ptr<const backends::hdf5::NewFile> file;
  // For each object of the file: the elements of its dataset, if the description does not have
  // them.
  std::vector<std::shared_ptr<const ElementSource>> elements;
};

// Makes the file of the group and everything below it.
//
// Dimensions have the scopes of netCDF-4: a dimension coordinate of the group or of one around
// it, else a dimension of that name and length. Coordinates from outside of the group become
// variables of the root. Arrays whose dimensions have no names have no scales. Elements that
// are arrays, and text of fixed length, become further dimensions; text is in UTF-8, numbers
// are little-endian. Compounds, enums, opaque elements and vlens have a committed datatype,
// which netCDF-4 demands. Links to arrays are soft links. Names that HDF5 or netCDF-4 cannot
// have are changed, and `ndlfs_name` has the true one.
//
// Text attributes have a fixed length, like those of netCDF; lists of texts have a variable
// length. Attributes of enums are their numbers; attributes of several dimensions get one
// dimension. An attribute that has to be of its variable's type, such as `_FillValue`, gets it
// if possible.
//
// Objects that cannot be in the file are left out, and named with the reason in
// `file->left_out`. Reads the metadata of everything, and the elements of variable size. kLimit
// for more objects than `limits` allows; other errors may be transient.
model::Result<Content> MakeContent(const GroupInput& group, const Limits& limits = {});

// The elements of an array, or of a part of one, as the file has them. Null if it has none.
std::shared_ptr<const ElementSource> ElementsInFile(const ArrayInput& input);

// The attribute with the true name of an object whose name was changed.
inline constexpr std::string_view kTrueName = "ndlfs_name";

// netCDF-C has this before the name of a variable that is called as a dimension of its group
// which it is not.
inline constexpr std::string_view kNoCoordinate = "_nc4_non_coord_";

}  // namespace ndlfs::fs::hdf5
