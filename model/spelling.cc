// SPDX-License-Identifier: MIT
#include "model/spelling.h"

#include <algorithm>
#include <string>
#include <vector>

namespace ndlfs::model {
namespace {

constexpr size_t kLongestWord = 40;  // time grows with its square

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

}  // namespace

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), Lower);
  return lower;
}

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, Lower, Lower);
}

// The restricted Damerau-Levenshtein distance.
size_t SpellingDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> rows(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) rows[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = Lower(a[i - 1]) == Lower(b[j - 1]);
      size_t& here = rows[i][j];
      here = std::min(
          {rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && Lower(a[i - 1]) == Lower(b[j - 2]) &&
          Lower(a[i - 2]) == Lower(b[j - 1])) {
        here = std::min(here, rows[i - 2][j - 2] + 1);
      }
    }
  }
  return rows[a.size()][b.size()];
}

std::string_view NearestSpelling(std::string_view word,
                                 std::span<const std::string_view> candidates) {
  if (word.size() > kLongestWord) return {};
  std::string_view nearest;
  size_t least = 3;
  for (const std::string_view candidate : candidates) {
    const size_t distance = SpellingDistance(word, candidate);
    // A short word with half of its letters replaced is another word.
    if (distance < least && 2 * distance < candidate.size()) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace ndlfs::model
