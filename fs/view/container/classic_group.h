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
};

// Integers of 64 bits that may each be a double.
struct WideValues {
  std::shared_ptr<const ElementSource> values;
  bool is_signed = true;
  std::optional<model::WideInt> fill = {};  // may be rounded
};
// Whether doubles hold all of them. Reads the values.
model::Result<bool> AreDoubles(const std::vector<WideValues>& arrays);

struct Content {
  backends::netcdf3::Header header;  // not laid out yet
  // For each variable the array that it is, by its index in the order of Add(), and its values:
  // all of them, in C order, to be read big-endian.
  std::vector<size_t> arrays;
  std::vector<std::shared_ptr<const ElementSource>> elements;

  // The same file in CDF-5, for the case that doubles do not hold `wide`. Its values have the
  // same places, because these arrays have 64 bits either way. Empty where there are no such
  // arrays.
  std::optional<backends::netcdf3::Header> cdf5_header = {};
  std::vector<std::shared_ptr<const ElementSource>> cdf5_elements = {};
  std::vector<WideValues> wide = {};
};

// Makes the contents of a file of these arrays: dimension coordinates first, then
// the others in the given order. Shapes and types are those of ArrayInput.
//
// Dimensions are the same where both have the same dimension coordinate, or the same
// name and length; a dimension without a name gets one of its own. One that the arrays call
// unlimited is the record dimension, if it is the first one of all that have it; all others are
// fixed. Bool and enum become their integers with `flag_values` and `flag_meanings`; floats of
// 16 bits and fewer become float32; text of fixed length becomes characters with one more
// dimension, in UTF-8 if it was UTF-32; counts of a unit of time get CF `units`. `_FillValue`
// is what backends::FillValueOf() says. Names that netCDF does not allow, or that are taken,
// are changed, and `ndlfs_name` has the true one.
//
// Few programs read CDF-5. So integers get a type that CDF-1 has: uint8 becomes short, uint16
// int, uint32 double; int64 and uint64 double, if that holds each value, which AreDoubles()
// tells. Where there are too many values to look at, the file is CDF-5, and all arrays and
// attributes have their own types. An array that the format cannot hold is left out. The global
// attribute `ndlfs_left_out` names each of these with the reason, one a line.
//
// Needs no more of an array than its elements when it has been added.
class ContentBuilder {
 public:
  // Values of 64 bits are looked at if an array has no more bytes than this; times and
  // coordinates, if they have no more than the second; and all together, up to the third.
  static constexpr uint64_t kLooksAtArray = uint64_t{1} << 20;
  static constexpr uint64_t kLooksAtCoordinate = uint64_t{16} << 20;
  static constexpr uint64_t kLooksAtAll = uint64_t{64} << 20;

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
  // The type in CDF-1 for the values of `array`, if it holds them; nullopt where there is none,
  // or nobody looks.
  std::optional<backends::netcdf3::Type> ClassicTypeOf(const GroupArray& array,
                                                       const Noted& noted);

  std::unique_ptr<Names> names_;
  std::vector<Noted> arrays_;
  uint64_t looked_at_ = 0;  // bytes
};

// Whether a file with this array is CDF-5, because nobody looks whether another type holds its
// values. Reads nothing.
bool NeedsCdf5Unseen(const ArrayInput& array);

}  // namespace ndlfs::fs::classic
