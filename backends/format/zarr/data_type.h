// SPDX-License-Identifier: MIT
//
// Data types of Zarr v3: the core ones, and those of the extension registry
// and of zarr-python that have a place in the model.
#pragma once

#include "backends/base/json.h"
#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::backends::zarr {

// The type that a `data_type` member names, with little-endian numbers.
// kUnsupported for a type that is not known, kBadInput for one that breaks
// the rules of its own definition.
model::Result<model::Datatype> ParseDataType(const Json& data_type);

struct ElementType {
  model::Datatype type;
  // Of "int2", "int4", "uint2" and "uint4", which are int8 and uint8 here: how
  // many bits count. 0: all.
  unsigned bits = 0;
};
// The type of the elements of an array: also one that nothing else may have.
model::Result<ElementType> ParseElementType(const Json& data_type);

}  // namespace ndlfs::backends::zarr
