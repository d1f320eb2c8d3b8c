// SPDX-License-Identifier: MIT
//
// Translates words of CDL, NumPy and Zarr to those of NDL, for suggestions in
// messages.
#pragma once

#include <string_view>

namespace ndlfs::model {

// "dimensions" -> "dimcoords"; empty for other words.
std::string_view NdlKeyFor(std::string_view word);

// "double" -> "float64", "<i4" -> "int32", "bool" -> NDL's enum for it; empty for
// other words.
std::string_view NdlDatatypeFor(std::string_view word);

}  // namespace ndlfs::model
