// SPDX-License-Identifier: MIT
//
// Describes the arrays of a group as a netCDF classic file: dimensions,
// variables, attributes, and the arrays that the format cannot hold.
#pragma once

#include <memory>
#include <optional>
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
};

struct Content {
  backends::netcdf3::Header header;  // not laid out yet
  // For each variable the array that it is, by its index in the order of Add(), and its values:
  // all of them, in C order, to be read big-endian.
  std::vector<size_t> arrays;
  std::vector<std::shared_ptr<const ElementSource>> elements;
};

// Makes the contents of a file of these arrays: dimension coordinates first, then
// the others in the given order. Shapes and types are those of ArrayInput.
//
// Dimensions are the same where both have the same dimension coordinate, or the same
// name and length; a dimension without a name gets one of its own. All are fixed; bool and enum
// become their integers with `flag_values` and `flag_meanings`; floats of 16 bits and fewer
// become float32; text of fixed length becomes characters with one more dimension, in UTF-8 if
// it was UTF-32; counts of a unit of time get CF `units`. Names that netCDF does not allow, or
// that are taken, are changed, and `ndlfs_name` has the true one.
//
// Integers in attributes get a type of CDF-1 if their values fit and no variable
// needs CDF-5. An array that the format cannot hold is left out. The global
// attribute `ndlfs_left_out` names each of these with the reason, one a line.
//
// Needs no more of an array than its elements when it has been added.
class ContentBuilder {
 public:
  ContentBuilder();
  ~ContentBuilder();

  // The group's own arrays come before coordinates of groups around it: they choose their names
  // first.
  void Add(const GroupArray& array);
  // Once, when all have been added.
  Content Build(const std::vector<model::Attribute>& group_attributes);

  struct Noted;

 private:
  struct Names;
  std::unique_ptr<Names> names_;
  std::vector<Noted> arrays_;
};

}  // namespace ndlfs::fs::classic
