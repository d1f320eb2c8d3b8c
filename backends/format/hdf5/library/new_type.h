// SPDX-License-Identifier: MIT
//
// NDL datatypes as datatypes of libhdf5, and element streams in the form that the library
// writes. The inverse of element_type.h and element_writer.h.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <memory_resource>
#include <string_view>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/format/hdf5/library/handle.h"
#include "model/datatype.h"
#include "model/error.h"
#include "model/value.h"

namespace ndlfs::backends::hdf5 {

// A datatype of the library, in the file and in memory alike.
struct NewType {
  Handle id;
  model::Datatype type;
  size_t size = 0;              // of an element in memory
  std::vector<size_t> offsets;  // of the members of a compound
  std::vector<NewType> parts;   // the members; or the base of an array or a vlen
};

// Makes the type. Text of fixed length becomes an array of characters, which netCDF-C reads
// correctly; of a longer string it would read the first character, or past the end. float8
// becomes opaque. `known` are committed datatypes; one of them is used if the type is the same.
// kUnsupported if HDF5 has no such type. Needs library_mutex.
model::Result<NewType> MakeNewType(const model::Datatype& type,
                                   const std::vector<NewType>& known = {});

// Text of `bytes` bytes as a string of that length, for attributes.
model::Result<Handle> MakeTextType(size_t bytes, bool is_utf8);
// Text of variable length.
model::Result<Handle> MakeVariableTextType();

// Whether references are part of the type.
bool HasReferences(const model::Datatype& type);

// The bytes of a hdset_reg_ref_t; all zeros for none.
using RegionBytes = std::array<std::byte, sizeof(hdset_reg_ref_t)>;

// Gives references: the address of an object, 0 for none; and a region.
struct NewReferences {
  std::function<hobj_ref_t(std::string_view path)> object;
  std::function<RegionBytes(const model::Region& region)> region;
};

// Takes an element off the front of `stream`, and writes it to `out`, which is `type.size`
// bytes of zeros. Data that the element points to go to `arena`.
model::Result<void> TakeNewElement(const NewType& type, ConstByteSpan& stream, std::byte* out,
                                   const NewReferences& references,
                                   std::pmr::memory_resource& arena);

}  // namespace ndlfs::backends::hdf5
