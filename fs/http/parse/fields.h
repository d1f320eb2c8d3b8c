// SPDX-License-Identifier: MIT
//
// Texts in the fields of a request.
#pragma once

#include <string_view>

namespace ndlfs::fs {

// `text` without blanks and tabs around it.
std::string_view TrimBlanks(std::string_view text);
bool StartsWithIgnoringCase(std::string_view text, std::string_view prefix);
bool EqualsIgnoringCase(std::string_view a, std::string_view b);

// Whether `name` can be the name of a field: a token (RFC 9110, section 5.6.2).
bool IsFieldName(std::string_view name);

}  // namespace ndlfs::fs
