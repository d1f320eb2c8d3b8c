// SPDX-License-Identifier: MIT
//
// The entities of the Ndarray Data Language (NDL 0.6.1, sections 4 and 6-11):
// File, Group, Ndarray, DimCoord, Attribute, Shape, and Storage directives.
// Plain values; the readers and writers of formats make and consume them.
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

namespace ndlfs::model {

// A storage filter: its name and its parameters as the store gives them.
struct Filter {
  std::string name;
  Value::Map parameters;
  bool operator==(const Filter&) const = default;
};

// NDL section 11. An absent directive means "not known".
struct Storage {
  std::optional<std::vector<uint64_t>> shape;  // ndarrays: extent of stored values
  std::optional<uint64_t> size;                // dimension coordinates: the same
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
  // Absolute path name of the DimCoord whose size and values this dimension
  // has; empty when there is none. `size` is that coordinate's then.
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
  bool json = false;            // `x-format: json`: the text is compact JSON
  bool operator==(const Attribute&) const = default;
};

struct Ndarray {
  std::string name;
  Datatype type;
  Shape shape;
  // Names of the dimensions, "" where one has none; empty, or as long as
  // `shape`. Written as `x-dims` where `shape` does not show them.
  std::vector<std::string> dimension_names;
  std::optional<Value> value;  // nested as the extent says
  std::vector<Attribute> attributes;
  Storage storage;
  // How an element lies in `data.raw`, where the type does not tell; written
  // as `x-layout`. A reader of the document need not follow it.
  std::optional<Layout> layout;
  // If not empty this is another name of the array at this path name (a hard
  // link), where value, attributes and storage are. Written as `x-same-as`.
  std::string same_as;
  bool operator==(const Ndarray&) const = default;
};

// An ndarray of one dimension whose elements are the coordinates along it.
// `shape` has exactly one item, and that names no DimCoord.
struct DimCoord : Ndarray {
  const std::optional<uint64_t>& size() const { return shape.front().size; }
  bool operator==(const DimCoord&) const = default;
};

// A dimension that has a name, and no coordinates.
struct NamedDimension {
  std::string name;
  std::optional<uint64_t> size;  // nullopt: unlimited
  bool operator==(const NamedDimension&) const = default;
};

// A name in a group that leads elsewhere; nothing may be there.
struct NamedLink {
  std::string name;
  std::string target;  // a path name
  std::string file;    // the file it is in, as the store calls it; empty: this store
  bool operator==(const NamedLink&) const = default;
};

// Children are in the order of their store.
struct Group {
  std::string name;  // last part of the path name; "" for the root
  std::vector<Attribute> attributes;
  // The dimensions that are defined here and are no DimCoords, whether an
  // ndarray has them or not; written as `x-dims`.
  std::vector<NamedDimension> dimensions;
  std::vector<DimCoord> dimcoords;
  std::vector<Ndarray> ndarrays;
  std::vector<Group> groups;
  std::vector<NamedLink> links;  // soft and external ones; written as `x-links`
  // If not empty this is another name of the group at this path name, where
  // its contents are. Written as `x-same-as`.
  std::string same_as;
  bool operator==(const Group&) const = default;
};

// What one store holds.
struct File {
  std::string name;
  Group root;
  bool operator==(const File&) const = default;
};

}  // namespace ndlfs::model
