// SPDX-License-Identifier: MIT
//
// Reads fill values, the value of all elements of an absent chunk.
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
  // One decoded element: little-endian, or in the form of an element stream
  // (array_source.h) if the type has a variable size.
  std::vector<std::byte> element;
  model::Value value;  // the same for storage directives
  // Like Node::notes: numbers in quotes, 0 and 1 for false and true.
  std::vector<std::string> notes = {};
};

// Whether elements of this type are small enough for a fill value. A few digits in a type can
// make an element as large as a chunk. Fill values are kept several times, also as text.
bool IsFillable(const model::Datatype& type);
// Fails with kLimit if they are not.
model::Result<void> CheckFillable(const model::Datatype& type);

// Reads a fill value of Zarr v3. `stored` has the byte order of the `bytes` codec,
// which matters only for bytes in base64.
model::Result<FillValue> ParseFillValueV3(const Json& json, const model::Datatype& stored);

// Reads a fill value of Zarr v2. Accepts the deviations of old writers that
// zarr-python accepts: 0 for text and structs, lists of bytes, 0.0 for integers.
// nullopt for null, which leaves the contents of absent chunks undefined.
model::Result<std::optional<FillValue>> ParseFillValueV2(const Json& json,
                                                         const model::Datatype& stored);

// Makes a fill value of a text of variable length.
FillValue MakeTextFill(std::string_view text);

}  // namespace ndlfs::backends::zarr
