// SPDX-License-Identifier: MIT
//
// Values, attributes and elements as Zarr's metadata have them in JSON.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/base/json.h"
#include "model/datatype.h"
#include "model/entities.h"
#include "model/value.h"

namespace ndlfs::fs::zarr {

// A value of `type`, or a list of such values, numbers as the float64 that they are; nullopt
// for values that JSON has no words for. NaN and infinity are text, as the fill values of Zarr.
std::optional<backends::Json> ValueToJson(const model::Datatype& type,
                                          const model::Value& value);
// A list of one item is that item, as netCDF has no others. With `has_lists`, which is for
// attributes that are JSON in the source, this is so of the numbers of packing alone.
// Attributes that JSON has no words for are named in the list `ndlfs_left_out`. With
// `has_bare_nan`, DocumentText() writes NaN and infinity as bare words, as zarr-python and
// xarray do in .zattrs. Readers of zarr.json refuse all of it then.
backends::Json AttributesToJson(const std::vector<model::Attribute>& attributes, bool has_lists,
                                bool has_bare_nan);
// A float by its bytes, little-endian, as the fill value of Zarr v3: a NaN other than the usual
// one is its bits, such as "0x7fc00001".
backends::Json FloatToJson(const model::Datatype& type, std::span<const std::byte> bytes);
// The text of a document. Bytes in names and texts that are no UTF-8 become U+FFFD.
std::string DocumentText(const backends::Json& json);

}  // namespace ndlfs::fs::zarr
