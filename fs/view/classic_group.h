// SPDX-License-Identifier: MIT
//
// What the arrays of a group are in a netCDF classic file: dimensions, variables,
// attributes, and what the format cannot hold.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/format/netcdf3/header.h"
#include "fs/view/view_input.h"
#include "model/entities.h"

namespace ndlfs::fs::classic {

// An array of the group, or a dimension coordinate that its arrays refer to.
struct GroupArray {
  std::string path = {};                            // NDL path name
  std::shared_ptr<const backends::Node> node = {};  // an array
  std::optional<ArrayInput> input = {};             // without it the array is left out
  // A coordinate of a group around this one: names of the group's own arrays come before its.
  bool is_outer = false;
};

struct Content {
  backends::netcdf3::Header header;  // not laid out yet
  // For each variable the array that it is, by its index, and its values: all of them, in C
  // order, to be read big-endian.
  std::vector<size_t> arrays;
  std::vector<std::shared_ptr<const ElementSource>> elements;
};

// The file of these arrays: dimension coordinates first, then the others in their
// order. The shape and the type of elements are those of the input.
//
// Dimensions are the same where both have the same dimension coordinate, or the same
// name and length; a dimension without a name gets one of its own. All are fixed; bool and enum
// become their integers with `flag_values` and `flag_meanings`; floats of 16 bits and fewer
// become float32; text of fixed length becomes characters with one more dimension, in UTF-8 if
// it was UTF-32; counts of a unit of time get CF `units`. Names that netCDF does not allow, or
// that are taken, are changed, and `ndlfs_name` has the true one.
//
// Integers of attributes are narrowed to types of CDF-1 where their values fit and
// no variable needs CDF-5. An array that the format has no type for is left out;
// the global attribute `ndlfs_left_out` names each with the reason, one a line.
Content MakeContent(const std::vector<model::Attribute>& group_attributes,
                    std::span<const GroupArray> arrays);

}  // namespace ndlfs::fs::classic
