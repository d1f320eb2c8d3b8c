// SPDX-License-Identifier: MIT
//
// Words of other languages for what NDL calls otherwise: what people who know
// CDL, NumPy or Zarr write first. Only for messages.
#pragma once

#include <string_view>

namespace ndlfs::model {

// "dimensions" -> "dimcoords"; empty where nothing is known.
std::string_view NdlKeyFor(std::string_view word);

// "double" -> "float64", "<i4" -> "int32", "bool" -> the enum; empty likewise.
std::string_view NdlDatatypeFor(std::string_view word);

}  // namespace ndlfs::model
