// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string_view>

namespace ndlfs::model {

// The candidate that `word` is most likely a misspelling of: another case, a
// letter or two more, less, exchanged or wrong. Empty if none is near.
std::string_view NearestSpelling(std::string_view word,
                                 std::span<const std::string_view> candidates);

}  // namespace ndlfs::model
