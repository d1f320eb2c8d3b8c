// SPDX-License-Identifier: MIT
//
// Reads the additions of netCDF-C to Zarr v2 (NCZarr): shared dimensions, scalars, and
// the types of attributes. Versions of netCDF-C store the same JSON objects in four
// different places:
//
//   netCDF-C 4.8.0         objects next to the metadata: .nczgroup, .nczarray
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

// A reference to a dimension by its fully qualified name: "/g/z" is z, declared in /g.
struct DimensionRef {
  std::string group;  // path name
  std::string name;
  bool operator==(const DimensionRef&) const = default;

  // The path name of its coordinate variable, if there is one; "" if no array can have
  // that name.
  std::string path() const;
  // The name to show; "" for the dimensions that netCDF-C makes up for arrays without
  // declared ones.
  std::string shown_name() const;
};

// Reads a fully qualified name, with the escapes "\/", "\\" and "\ ". nullopt for
// anything else.
std::optional<DimensionRef> ParseDimensionRef(std::string_view name);

struct ArrayKeys {
  // One for each dimension of the array; nullopt if they are not known.
  std::optional<std::vector<DimensionRef>> dimensions;
  bool is_scalar = false;  // stored with the shape [1]
};

struct Dimension {
  uint64_t size = 0;
  bool is_unlimited = false;
  bool operator==(const Dimension&) const = default;
};
using Dimensions = std::map<std::string, Dimension, std::less<>>;  // by name

// The stored metadata of a node; JSON null if absent.
struct Documents {
  const Json& document;    // .zarray or .zgroup
  const Json& attributes;  // .zattrs
  const Json& separate;    // the objects of 4.8.0: {"array"|"group"|"attr": ...}
};

// nullopt if netCDF-C has not written the array. Ignores keys in a form that netCDF-C
// does not write.
std::optional<ArrayKeys> FindArrayKeys(const Documents& documents);
// The dimensions that a group declares.
Dimensions FindDimensions(const Documents& documents);
// The dimensions without coordinates: no array of the group has the same name.
std::vector<model::NamedDimension> DimensionsWithoutArrays(const Documents& documents);
// Whether the metadata have any object of NCZarr.
bool HasKeys(const Documents& documents);

// `zarray` as plain Zarr: without dimensions for a scalar, and with the stored forms
// of characters and fill values.
Json NormalizeArray(const Json& zarray, const ArrayKeys& keys);

// Makes attributes with the types that NCZarr declares. If none is declared, or the value does
// not fit it, the type follows from the value. Leaves out NCZarr's own objects, and the
// attribute with the names of dimensions if `dimensions` has the same. Leaves out attributes
// that do not fit into an AttributeRoom; `left_out` then names the first one.
std::vector<model::Attribute> MakeAttributes(const Documents& documents,
                                             const ArrayKeys* dimensions,
                                             std::optional<model::Error>& left_out);

}  // namespace ndlfs::backends::nczarr
