// SPDX-License-Identifier: MIT
//
// What views ask attributes for.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/format/hierarchy.h"
#include "model/attributes.h"
#include "model/value.h"

namespace ndlfs::fs {

// The value that stands for missing elements, as the store has it: `_FillValue`, else
// `missing_value`, else a fill value of the storage other than zero, if elements have more than
// one byte. nullopt where there is none, or several.
std::optional<model::Value> MissingValue(const backends::Node& node);

// CF's `units` of numbers that count time: "hours since 1970-01-01", or "hours" for
// differences. Empty where CF has no word for the unit.
std::string CfTimeUnits(const model::TimeUnit& unit);

// `text` in printable ASCII on one line: other characters become '?'.
std::string PrintableAscii(std::string_view text);

}  // namespace ndlfs::fs
