// SPDX-License-Identifier: MIT
//
// Fill values: what a chunk that is absent holds.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/base/json.h"
#include "model/datatype.h"
#include "model/error.h"
#include "model/value.h"

namespace ndlfs::backends::zarr {

struct FillValue {
  // One element as decoded: little-endian, or an element of an element
  // stream (array_source.h) where the type is of variable size.
  std::vector<std::byte> element;
  model::Value value;  // the same for storage directives
  // As of a Node: numbers in quotes, 0 and 1 for false and true.
  std::vector<std::string> notes = {};
};

// Whether an element may have a fill value: three digits in a type can make it
// as large as a chunk may be, and it is kept several times, also as text.
bool IsFillable(const model::Datatype& type);
// kLimit where it may not.
model::Result<void> CheckFillable(const model::Datatype& type);

// The fill value of Zarr v3. `stored` has the byte order of the `bytes` codec,
// which matters only to packed bytes in base64.
model::Result<FillValue> ParseFillValueV3(const Json& json, const model::Datatype& stored);

// The fill value of Zarr v2, as lenient as zarr-python is with what older
// writers left: 0 for text and structs, lists of bytes, 0.0 for integers.
// nullopt for null, which leaves the contents of absent chunks open.
model::Result<std::optional<FillValue>> ParseFillValueV2(const Json& json,
                                                         const model::Datatype& stored);

// Text of any length as a fill value.
FillValue MakeTextFill(std::string_view text);

}  // namespace ndlfs::backends::zarr
