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
#include "fs/view/base/view_input.h"
#include "model/entities.h"
#include "model/error.h"

namespace ndlfs::fs::classic {

// An array of the group, or a dimension coordinate that its arrays refer to.
struct GroupArray {
  std::string path = {};                            // NDL path name
  std::shared_ptr<const backends::Node> node = {};  // an array
  std::optional<ArrayInput> input = {};             // without it the array is left out
  std::string name = {};                            // if it is not the last of the path
};

// Integers of 64 bits that could be stored as doubles.
struct WideValues {
  std::shared_ptr<const ElementSource> values;
  bool is_signed = true;
  std::optional<model::WideInt> fill = {};  // may be rounded
};
// Whether doubles hold all values exactly. Reads the values.
model::Result<bool> AreDoubles(const std::vector<WideValues>& arrays);

struct Content {
  backends::netcdf3::Header header;  // not laid out yet
  // For each variable: the index of its array, in the order of Add(), and its values: all of
  // them, in C order, to be read big-endian.
  std::vector<size_t> arrays;
  std::vector<std::shared_ptr<const ElementSource>> elements;

  // The same file in CDF-5, in case doubles do not hold `wide`. Its values have the same
  // places, because these arrays have 64 bits either way. Empty if there are no such arrays.
  std::optional<backends::netcdf3::Header> cdf5_header = {};
  std::vector<std::shared_ptr<const ElementSource>> cdf5_elements = {};
  std::vector<WideValues> wide = {};
};

// Makes the contents of a file of these arrays: dimension coordinates first, then the others in
// the given order. Shapes and types are those of ArrayInput.
//
// Two dimensions are the same if they have the same dimension coordinate, or the same name and
// length. A dimension without a name gets one of its own. A dimension that the arrays call
// unlimited is the record dimension, if it is the first dimension of all arrays that have it;
// all others are fixed. Bool and enum become their integers with `flag_values` and
// `flag_meanings`; floats of 16 bits and fewer become float32; text of fixed length becomes
// characters with one more dimension, in UTF-8 if it was UTF-32; counts of a unit of time get
// CF `units`. `_FillValue` is that of backends::FillValueOf(). Names that netCDF does not
// allow, or that are taken, are changed, and `ndlfs_name` has the true one.
//
// Few programs read CDF-5. So integers get a type that CDF-1 has: uint8 becomes short, uint16
// int, uint32 double; int64 and uint64 double, if that holds each value, which AreDoubles()
// tells. If there are too many values to look at, the file is CDF-5, and all arrays and
// attributes have their own types. An array that the format cannot hold is left out. The global
// attribute `ndlfs_left_out` names each of these with the reason, one a line.
//
// Once an array has been added, only its elements are needed.
class ContentBuilder {
 public:
  // Looks at values of 64 bits if an array has no more bytes than this; at times and
  // coordinates, if they have no more than the second number; and at no more than the third in
  // all.
  static constexpr uint64_t kLooksAtArray = uint64_t{1} << 20;
  static constexpr uint64_t kLooksAtCoordinate = uint64_t{16} << 20;
  static constexpr uint64_t kLooksAtAll = uint64_t{64} << 20;

  ContentBuilder();
  ~ContentBuilder();

  // Add the group's own arrays before the coordinates of groups around it: the first ones
  // choose their names first.
  void Add(const GroupArray& array);
  // Call it once, when all arrays have been added.
  Content Build(const std::vector<model::Attribute>& group_attributes);

  struct Noted;

 private:
  // The type in CDF-1 for the values of `array`, if it holds them; nullopt if there is none, or
  // if there are too many values to look at.
  std::optional<backends::netcdf3::Type> ClassicTypeOf(const GroupArray& array,
                                                       const Noted& noted);

  std::vector<Noted> arrays_;
  uint64_t looked_at_ = 0;  // bytes
};

// Whether a file with this array is CDF-5, because it has too many values to look whether
// another type holds them. Reads nothing.
bool NeedsCdf5Unseen(const ArrayInput& array);

}  // namespace ndlfs::fs::classic
