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

}  // namespace ndlfs::fs
