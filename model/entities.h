// SPDX-License-Identifier: MIT
//
// The entities of the Ndarray Data Language (NDL 0.6.1, sections 4 and 6-11):
// File, Group, Ndarray, DimCoord, Attribute, Shape, and Storage directives.
// Plain values without behaviour: readers of formats make them, writers and
// views use them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/datatype.h"
#include "model/layout.h"
#include "model/value.h"
#include "model/value_source.h"

namespace ndlfs::model {

// A storage filter. The name and the parameters are those in the store.
struct Filter {
  std::string name;
  Value::Map parameters;
  bool operator==(const Filter&) const = default;
};

// NDL section 11. An absent directive means "not known".
struct Storage {
  std::optional<std::vector<uint64_t>> shape;  // extents of the stored values (ndarrays)
  std::optional<uint64_t> size;                // the same of dimension coordinates
  std::optional<std::vector<uint64_t>> chunk;
  std::optional<std::vector<Filter>> filter;  // in write order
  std::optional<ByteOrder> endian;
  std::optional<std::string> charset;
  std::optional<Value> fillvalue;

  bool empty() const { return *this == Storage(); }
  bool operator==(const Storage&) const = default;
};

// One dimension of a shape: an integer, null, or the name of a DimCoord.
struct Dimension {
  std::optional<uint64_t> size;  // nullopt: unlimited
  // Absolute path name of the dimension coordinate along this dimension; empty
  // if there is none. `size` is then the size of that coordinate.
  std::string dimcoord;
  bool operator==(const Dimension&) const = default;
};
using Shape = std::vector<Dimension>;

struct Attribute {
  std::string name;
  Datatype type;
  std::vector<uint64_t> shape;  // [] is a scalar
  Value value;                  // scalar, or lists nested as `shape` says
  Storage storage;              // endian and charset only
  bool json = false;            // the text is compact JSON; written as `x-format: json`
  bool operator==(const Attribute&) const = default;
};

struct Ndarray {
  std::string name;
  Datatype type;
  Shape shape;
  // One name for each dimension, "" for a dimension without a name; or empty,
  // if no dimension has a name. Written as `x-dims` if `shape` does not show
  // the same names.
  std::vector<std::string> dimension_names;
  std::optional<Value> value;  // lists nested as the stored extents say
  std::vector<Attribute> attributes;
  Storage storage;
  // Layout of an element in `data.raw`, if the datatype alone does not
  // determine it. Written as `x-layout`, which readers may ignore.
  std::optional<Layout> layout;
  // If not empty, this is a hard link to the array at this path name, which
  // has the value, the attributes and the storage. Written as `x-same-as`.
  std::string same_as;
  // Where the values come from if `value` does not have them. Written as `x-source`.
  ValueSourcePtr source;
  bool operator==(const Ndarray&) const = default;
};

// A dimension coordinate: an ndarray of one dimension whose elements are the
// coordinates along it. `shape` has exactly one item, without a `dimcoord`.
struct DimCoord : Ndarray {
  // 0 as long as `shape` is not filled in.
  std::optional<uint64_t> size() const {
    return shape.empty() ? std::optional<uint64_t>(0) : shape.front().size;
  }
  bool operator==(const DimCoord&) const = default;
};

// A dimension with a name but without coordinates.
struct NamedDimension {
  std::string name;
  std::optional<uint64_t> size;  // nullopt: unlimited
  bool operator==(const NamedDimension&) const = default;
};

// A soft or external link in a group. The target may not exist.
struct NamedLink {
  std::string name;
  std::string target;  // a path name
  std::string file;    // the file of the target, as the store names it; empty: this store
  bool operator==(const NamedLink&) const = default;
};

// Children are in the order of the store.
struct Group {
  std::string name;  // last part of the path name; "" for the root
  std::vector<Attribute> attributes;
  // The dimensions that the group defines and that have no coordinates,
  // whether an ndarray uses them or not. Written as `x-dims`.
  std::vector<NamedDimension> dimensions;
  std::vector<DimCoord> dimcoords;
  std::vector<Ndarray> ndarrays;
  std::vector<Group> groups;
  std::vector<NamedLink> links;  // written as `x-links`
  // If not empty, this is a hard link to the group at this path name, which
  // has the contents. Written as `x-same-as`.
  std::string same_as;
  // Where more objects of the group come from. Written as `x-source`.
  ValueSourcePtr source;
  bool operator==(const Group&) const = default;
};

// The contents of one store.
struct File {
  std::string name;
  Group root;
  bool operator==(const File&) const = default;
};

}  // namespace ndlfs::model
