// SPDX-License-Identifier: MIT
//
// Attributes that views need.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/format/hierarchy.h"
#include "fs/view/base/view_input.h"
#include "model/attributes.h"

namespace ndlfs::fs {

// The object that an attribute of an array in `group` calls `name`: see
// backends::PathsOfNamed(). nullopt if there is none that can be shown; an error is transient.
struct NamedObject {
  std::string path;
  GroupChild child;
};
model::Result<std::optional<NamedObject>> FindNamed(std::shared_ptr<const GroupInput> group,
                                                    std::string_view name);

// CF's `units` of numbers that count time: "hours since 1970-01-01", or "hours" for
// differences. Empty if CF has no word for the unit; see ToCfTimes().
std::string CfTimeUnits(const model::TimeUnit& unit);

// netCDF's `_Encoding` of characters of the type, which tells netCDF4-python and others how to
// decode them: "UTF-8", "ISO-8859-1". Empty for ASCII, which needs none, and for other types.
std::string EncodingOfText(const model::Datatype& type);

// `text` in printable ASCII on one line: other characters become '?', and the sign of "micro"
// becomes 'u'.
std::string PrintableAscii(std::string_view text);

// Whether `units` are one of CF's words for degrees of longitude: "degrees_east"; of latitude.
bool IsDegreesEast(std::string_view units);
bool IsDegreesNorth(std::string_view units);

// The words of a list such as `coordinates` or `flag_meanings`.
std::vector<std::string> WordsOf(std::string_view text);

// `text` with the letters of ASCII in lower case.
std::string LowerCase(std::string text);

}  // namespace ndlfs::fs
