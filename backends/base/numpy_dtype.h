// SPDX-License-Identifier: MIT
//
// Reads NumPy's descriptions of element types, as NPY headers and Zarr v2
// metadata have them: type strings ("<f8", "|S12", "<M8[ns]") and lists of fields.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backends/base/json.h"
#include "model/datatype.h"
#include "model/entities.h"
#include "model/error.h"

namespace ndlfs::backends {

struct NumpyField;

// The structure of numpy.dtype.descr, with type strings still as text. Readers
// of Python literals and of JSON both make it.
struct NumpyDescr {
  enum class Kind { kTypestr, kFields, kSubarray };
  Kind kind = Kind::kTypestr;
  std::string typestr;             // kTypestr
  std::vector<NumpyField> fields;  // kFields
  std::vector<NumpyDescr> base;    // kSubarray: the type of the elements, one item
  std::vector<uint64_t> shape;     // kSubarray
};

struct NumpyField {
  std::string name;  // "" for padding, if `type` is opaque
  NumpyDescr type;
};

// The type with its stored byte order and layout. Fields lie one after the
// other; padding leaves a gap. Unnamed fields other than padding are called f0,
// f1, ... by position, as in NumPy. Fails with kUnsupported for Python objects,
// and with kLimit for elements of 2 GiB or more.
model::Result<model::Datatype> NumpyDtype(const NumpyDescr& descr);
model::Result<model::Datatype> NumpyDtype(std::string_view typestr);

// The Storage directives `endian` and `charset` for such a type.
model::Storage NumpyStorage(const model::Datatype& stored);

// Reads the `dtype` of Zarr v2: a string, or a list of [name, type] and
// [name, type, shape]. A name may be [title, name].
model::Result<NumpyDescr> NumpyDescrFromJson(const Json& json);

// A subarray of `shape` elements of `base`; `base` itself if the shape is empty.
NumpyDescr NumpySubarray(NumpyDescr base, std::vector<uint64_t> shape);

}  // namespace ndlfs::backends
