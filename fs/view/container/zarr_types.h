// SPDX-License-Identifier: MIT
//
// The words of Zarr for the types of elements and for their fill values. Version 3 follows the
// core specification 3.0 and its registered extensions; version 2 has the type strings of
// NumPy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backends/base/json.h"
#include "fs/view/elements/converted_elements.h"
#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::fs::zarr {

enum class Version : uint8_t { kV2, kV3 };

// How the elements of an array lie in its chunks.
struct ElementForm {
  model::Datatype type;         // without gaps between members
  std::vector<uint64_t> inner;  // extents of elements that are arrays: dimensions in Zarr
  backends::Json name;          // `data_type` of v3, `dtype` of v2
  // Makes such elements of those of the source. No converter if they are the same.
  ElementConversion packing = {};
};

// kUnsupported, with the reason, for a type that Zarr has no word for, or that is known to one
// program alone. Except for this: zarr-python's null_terminated_bytes is text of single bytes.
// Enums are their integers.
model::Result<ElementForm> DescribeType(const model::Datatype& type, Version version);

// The `codecs` of v3, and the `filters` of v2, which make elements of such a type of bytes.
backends::Json CodecsOf(const model::Datatype& type);
backends::Json FiltersOf(const model::Datatype& type);

// The fill value `bytes`, one element of ElementForm::type; if it is of variable size, as in an
// element stream. `is_exact` tells whether readers make the same bytes of the words.
struct FillWord {
  backends::Json json;
  bool is_exact = true;
};
FillWord DescribeFill(const model::Datatype& type, std::span<const std::byte> bytes,
                      Version version);

}  // namespace ndlfs::fs::zarr
