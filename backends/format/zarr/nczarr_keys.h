// SPDX-License-Identifier: MIT
//
// What netCDF-C adds to Zarr v2 (NCZarr): shared dimensions, scalars, and the
// types of attributes. The same JSON objects have stood in four places:
//
//   netCDF-C 4.8.0         objects beside the metadata: .nczgroup, .nczarray
//                          (or .nczvar), .nczattr
//   4.8.1 to 4.9.0         members of .zgroup, .zarray and .zattrs:
//                          _NCZARR_GROUP, _NCZARR_ARRAY, _NCZARR_ATTR
//   4.9.1, 4.9.2           the same in lower case
//   from 4.9.3             lower case, all of them members of .zattrs
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/base/json.h"
#include "model/entities.h"

namespace ndlfs::backends::nczarr {

// A dimension by its fully qualified name: "/g/z" is z, declared in /g.
struct DimensionRef {
  std::string group;  // path name
  std::string name;
  bool operator==(const DimensionRef&) const = default;

  // Where its coordinate variable would be; "" if no array can be called so.
  std::string path() const;
  // "" for the dimensions that netCDF-C invents for arrays without any.
  std::string shown_name() const;
};

// Undoes the escapes of fully qualified names: "\/", "\\" and "\ ". nullopt
// for what is no such name.
std::optional<DimensionRef> ParseDimensionRef(std::string_view name);

struct ArrayKeys {
  // As many as the array has dimensions; nullopt where they are not told.
  std::optional<std::vector<DimensionRef>> dimensions;
  bool is_scalar = false;  // stored with the shape [1]
};

struct Dimension {
  uint64_t size = 0;
  bool is_unlimited = false;
  bool operator==(const Dimension&) const = default;
};
using Dimensions = std::map<std::string, Dimension, std::less<>>;  // by name

// The metadata of a node as they are stored; null where there are none.
struct Documents {
  const Json& document;    // .zarray or .zgroup
  const Json& attributes;  // .zattrs
  const Json& separate;    // {"array"|"group"|"attr": ...} of 4.8.0
};

// nullopt if netCDF-C has not written the array. What it cannot have written
// is as good as absent.
std::optional<ArrayKeys> FindArrayKeys(const Documents& documents);
// The dimensions that a group declares.
Dimensions FindDimensions(const Documents& documents);
// Those of them that no array of the group is called as: without coordinates.
std::vector<model::NamedDimension> DimensionsWithoutArrays(const Documents& documents);
// Whether there is any of NCZarr's objects.
bool HasKeys(const Documents& documents);

// .zarray in the terms of Zarr: a scalar has no dimensions, and characters
// and fill values are what they are in storage.
Json NormalizeArray(const Json& zarray, const ArrayKeys& keys);

// Attributes of the types that are told for them; those without a type, or
// with one that their value does not have, by the value. Without NCZarr's own
// objects, and without the names of dimensions if `dimensions` are them.
std::vector<model::Attribute> MakeAttributes(const Documents& documents,
                                             const ArrayKeys* dimensions);

}  // namespace ndlfs::backends::nczarr
