// SPDX-License-Identifier: MIT
//
// Reads data types of Zarr v3: the core ones, and those of the extension registry and
// of zarr-python that the model can express.
#pragma once

#include "backends/base/json.h"
#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::backends::zarr {

// The type of a `data_type` member, with little-endian numbers. Fails with
// kUnsupported for an unknown type, and with kBadInput for a type that breaks its
// specification.
model::Result<model::Datatype> ParseDataType(const Json& data_type);

struct ElementType {
  model::Datatype type;
  // The bits of "int2", "int4", "uint2" and "uint4", whose `type` is int8 or uint8; 0
  // for all other types.
  unsigned bits = 0;
};
// The type of the elements of an array, which may also be an integer of 2 or 4 bits.
model::Result<ElementType> ParseElementType(const Json& data_type);

}  // namespace ndlfs::backends::zarr
