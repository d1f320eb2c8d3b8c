// SPDX-License-Identifier: MIT
//
// What views ask attributes for.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/format/hierarchy.h"
#include "model/value.h"

namespace ndlfs::fs {

// Null where there is none of that name.
const model::Attribute* FindAttribute(const std::vector<model::Attribute>& attributes,
                                      std::string_view name);
// The text of an attribute, a list of one text too; empty where there is none.
std::string TextOf(const std::vector<model::Attribute>& attributes, std::string_view name);
// The numbers of an attribute: one, or a list. Empty where there are none.
std::vector<double> NumbersOf(const std::vector<model::Attribute>& attributes,
                              std::string_view name);
// The number of an attribute that is one number, or a list of one.
std::optional<double> NumberOf(const std::vector<model::Attribute>& attributes,
                               std::string_view name);

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
