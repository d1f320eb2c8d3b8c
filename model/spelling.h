// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace ndlfs::model {

// Only letters of ASCII have two cases here, whatever the locale.
std::string LowerCase(std::string_view text);
bool EqualsIgnoringCase(std::string_view a, std::string_view b);

// The number of edits that turn one word into the other: inserting, deleting or
// replacing a letter, or exchanging two neighbours. Ignores case. Takes time
// and memory proportional to the product of the lengths.
size_t SpellingDistance(std::string_view a, std::string_view b);

// The candidate that `word` most likely misspells: one that differs in case or
// by an edit or two. Empty if none is that near.
std::string_view NearestSpelling(std::string_view word,
                                 std::span<const std::string_view> candidates);

}  // namespace ndlfs::model
