// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

namespace ndlfs::fs {

// As a word in single quotes: "don't" is 'don'\''t'.
inline std::string ShellQuote(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

// As one word of a command line: in quotes only where it needs them.
inline std::string QuotedForShell(std::string_view word) {
  constexpr std::string_view kPlain = "_./:=@%+,-";
  const auto is_plain = [&](unsigned char c) {
    return std::isalnum(c) != 0 || kPlain.find(static_cast<char>(c)) != kPlain.npos;
  };
  return !word.empty() && std::ranges::all_of(word, is_plain) ? std::string(word)
                                                              : ShellQuote(word);
}

}  // namespace ndlfs::fs
