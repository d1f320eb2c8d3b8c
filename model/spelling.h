// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace ndlfs::model {

// How many letters must be put in, left out, replaced or exchanged with their
// neighbour to make one word of the other; case does not count. Takes time and
// memory proportional to the product of their lengths.
size_t SpellingDistance(std::string_view a, std::string_view b);

// The candidate that `word` is most likely a misspelling of: another case, a
// letter or two more, less, exchanged or wrong. Empty if none is near.
std::string_view NearestSpelling(std::string_view word,
                                 std::span<const std::string_view> candidates);

}  // namespace ndlfs::model
