// SPDX-License-Identifier: MIT
//
// Types and attributes in the form that HDF5 and netCDF-4 need.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/format/hdf5/new_file.h"
#include "backends/format/hierarchy.h"
#include "model/datatype.h"
#include "model/entities.h"
#include "model/error.h"

namespace ndlfs::fs::hdf5 {

// The type of a dataset: `type`, with these dimensions after those of the array.
struct FlatType {
  model::Datatype type;
  std::vector<uint64_t> inner;
};

// The type of a dataset for elements of `type`: arrays and text of fixed length become
// dimensions. Enums that HDF5 refuses become their integers. kUnsupported if HDF5 has no such
// type.
model::Result<FlatType> Flatten(const model::Datatype& type);

// Whether netCDF-4 demands that the type is committed, and can read it then.
bool IsCommitted(const model::Datatype& type);

// Appends the committed types that `type` is made of, and `type` itself, to `types`, in the
// order in which they are defined. Does not repeat types. Ignores types beyond a thousand.
void AddCommitted(const model::Datatype& type, std::vector<model::Datatype>& types);

// A name for such a type: "bool", "complex128", "compound".
std::string NameOfType(const model::Datatype& type);

backends::hdf5::NewAttribute MakeTextAttribute(std::string name, std::string_view text);

// Converts attributes to those of HDF5.
std::vector<backends::hdf5::NewAttribute> MakeAttributes(
    const std::vector<model::Attribute>& attributes);

// The attributes of an array with elements of `type`. In addition: `_FillValue`, as
// backends::FillValueOf() says; `units` and `calendar` of a time; `_Encoding` of text that is
// not ASCII.
std::vector<backends::hdf5::NewAttribute> MakeAttributes(const backends::Node& array,
                                                         const model::Datatype& type);

// Whether a part of `type` is a float of more than 64 bits. netCDF-C ends the program that
// opens a file with one.
bool HasWideFloat(const model::Datatype& type);

}  // namespace ndlfs::fs::hdf5
