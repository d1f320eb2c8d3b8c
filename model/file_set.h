// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/error.h"
#include "model/value_source.h"

namespace ndlfs::model {

// The most parts of a join.
inline constexpr uint64_t kMaxParts = 200'000;

// The names of a set that is no glob, in their order. Fails with kBadInput for a pattern
// without a place for the number or the date, and with kLimit for more than kMaxParts names.
//
// Patterns have one %d, with a width such as %03d, or any of %Y %m %d %H %M %S %j %y for dates;
// %% is a percent sign. Dates are those of the Gregorian calendar.
Result<std::vector<std::string>> ExpandFileSet(const FileSet& files);

// Whether `name` fits the pattern of a glob in one folder: * for any text, ? for a character,
// [a-z] for one of several.
bool MatchesGlob(std::string_view pattern, std::string_view name);
bool HasWildcard(std::string_view pattern);

}  // namespace ndlfs::model
