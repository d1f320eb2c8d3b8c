// SPDX-License-Identifier: MIT
//
// NumPy's descriptions of element types, as NPY headers and Zarr v2 metadata
// spell them: type strings ("<f8", "|S12", "<M8[ns]") and lists of fields.
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

// What numpy.dtype.descr gives, before it is understood. Python literals and
// JSON are both turned into this.
struct NumpyDescr {
  enum class Kind { kTypestr, kFields, kSubarray };
  Kind kind = Kind::kTypestr;
  std::string typestr;             // kTypestr
  std::vector<NumpyField> fields;  // kFields
  std::vector<NumpyDescr> base;    // kSubarray: the one type of the elements
  std::vector<uint64_t> shape;     // kSubarray
};

struct NumpyField {
  std::string name;  // "" for padding, if `type` is an opaque one
  NumpyDescr type;
};

// The type with its stored byte order and layout. Fields lie one after the
// other; padding leaves a gap. Unnamed fields that are no padding are called
// f0, f1, ... by their place, as NumPy does. Refuses (kUnsupported) Python
// objects, (kLimit) elements of 2 GiB or more.
model::Result<model::Datatype> NumpyDtype(const NumpyDescr& descr);
model::Result<model::Datatype> NumpyDtype(std::string_view typestr);

// What the Storage directives `endian` and `charset` say of such a type.
model::Storage NumpyStorage(const model::Datatype& stored);

// The `dtype` of Zarr v2: a string, or a list of [name, type] and
// [name, type, shape], where a name may be [title, name].
model::Result<NumpyDescr> NumpyDescrFromJson(const Json& json);

// `shape` elements of `base`; `base` itself where the shape is empty.
NumpyDescr NumpySubarray(NumpyDescr base, std::vector<uint64_t> shape);

}  // namespace ndlfs::backends
