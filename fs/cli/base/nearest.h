// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ndlfs::fs {

// The candidate that `word` is most likely a slip of, by
// model::SpellingDistance; empty where none is near.
std::string_view Nearest(std::string_view word, std::span<const std::string_view> candidates);

// " (did you mean WORD?)", or nothing where no candidate is near.
std::string DidYouMean(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace ndlfs::fs
