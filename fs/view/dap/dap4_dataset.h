// SPDX-License-Identifier: MIT
//
// A group and everything below it as DAP 4 describes it (DAP4 specification, volume 1). It is
// that of data.h5 (hdf5_group.h): names, dimensions and attributes are the same. Types:
//
//   integers, float32, float64   themselves; smaller floats are Float32
//   text of fixed length         Char, with its length as a further dimension
//   text of variable length      String
//   enums                        Enum
//   opaque elements              UInt8, with their size as a further dimension
//   compounds of numbers         Structure, if its members lie as those of a struct of C
//                                without gaps: netCDF-C 4.9 misreads others
//
// Arrays of other types are left out, and named with the reason.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fs/view/base/view_input.h"
#include "fs/view/container/hdf5_group.h"
#include "fs/view/dap/parse/constraint.h"
#include "fs/view/elements/selection.h"
#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::fs {

struct Dap4Variable {
  uint32_t object = 0;                      // in NewFile::objects
  std::vector<uint64_t> shape = {};         // of the requested part
  std::optional<Selection> selection = {};  // one range for each dimension; nullopt: all
};

// What a request asks for.
struct Dap4Dataset {
  hdf5::Content content = {};
  // The names of the objects in a reply, as netCDF-C can have them: it refuses a dataset with
  // others. No two of a group are the same, but a dimension may be called like a variable.
  std::vector<std::string> names = {};
  bool is_whole = true;                      // there is no constraint
  std::vector<Dap4Variable> variables = {};  // in the order of a reply
  std::string left_out = {};                 // one line each; empty: nothing

  const std::vector<backends::hdf5::NewObject>& objects() const {
    return content.file->objects;
  }
};

// kNotFound if the group lacks a variable of `projections`, or an element of it. Reads the
// metadata of everything below the group, and the elements of variable size.
model::Result<Dap4Dataset> DescribeDap4(const GroupInput& group,
                                        const std::vector<Dap4Projection>& projections);

// The path of an object in a reply: "/g/x", with backslashes before characters that mean
// something else in paths.
std::string Dap4PathOf(const Dap4Dataset& dataset, uint32_t object);

// The name of the XML element for numbers, characters and texts of `type`; empty for other
// types.
std::string_view Dap4TypeName(const model::Datatype& type);

}  // namespace ndlfs::fs
