// SPDX-License-Identifier: MIT
//
// Attributes that views need.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/format/hierarchy.h"
#include "model/attributes.h"

namespace ndlfs::fs {

// CF's `units` of numbers that count time: "hours since 1970-01-01", or "hours" for
// differences. Empty if CF has no word for the unit; see ToCfTimes().
std::string CfTimeUnits(const model::TimeUnit& unit);

// netCDF's `_Encoding` of characters of the type, which tells netCDF4-python and others how to
// decode them: "UTF-8", "ISO-8859-1". Empty for ASCII, which needs none, and for other types.
std::string EncodingOfText(const model::Datatype& type);

// `text` in printable ASCII on one line: other characters become '?'.
std::string PrintableAscii(std::string_view text);

}  // namespace ndlfs::fs
