// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

namespace ndlfs::fs {

// `text` as a word in single quotes: "don't" becomes 'don'\''t'.
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

// `word` as one word of a command line, in quotes only if it needs them.
inline std::string QuotedForShell(std::string_view word) {
  constexpr std::string_view kPlain = "_./:=@%+,-";
  const auto is_plain = [&](unsigned char c) {
    return std::isalnum(c) != 0 || kPlain.find(static_cast<char>(c)) != kPlain.npos;
  };
  return !word.empty() && std::ranges::all_of(word, is_plain) ? std::string(word)
                                                              : ShellQuote(word);
}

}  // namespace ndlfs::fs
