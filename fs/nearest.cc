// SPDX-License-Identifier: MIT
#include "fs/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace ndlfs::fs {
namespace {

// Nobody types longer words by mistake.
constexpr size_t kMaxLength = 64;
// Shorter ones are as near to one word as to another.
constexpr size_t kMinLength = 3;

// The optimal string alignment distance: Levenshtein's, and one for a swap of
// neighbours.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last, last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = std::min({row[j] + 1, last[j + 1] + 1, last[j] + (a[i] != b[j])});
      if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j]) {
        row[j + 1] = std::min(row[j + 1], before_last[j - 1] + 1);
      }
    }
    before_last = std::exchange(last, row);
  }
  return last.back();
}

bool IsEqualButForCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

}  // namespace

std::string_view Nearest(std::string_view word, std::span<const std::string_view> candidates) {
  for (const std::string_view candidate : candidates) {
    if (IsEqualButForCase(word, candidate)) return candidate;
  }
  if (word.size() < kMinLength || word.size() > kMaxLength) return {};
  std::string_view nearest;
  // Beyond a third of its letters it is another word.
  size_t limit = word.size() / 3;
  for (const std::string_view candidate : candidates) {
    // Words cut short, or too long, come after mere slips.
    const bool begins = candidate.starts_with(word) || word.starts_with(candidate);
    const size_t distance =
        begins ? std::min(Distance(word, candidate), limit) : Distance(word, candidate);
    if (distance > limit || (distance == limit && !nearest.empty())) continue;
    limit = distance;
    nearest = candidate;
  }
  return nearest;
}

std::string DidYouMean(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string_view nearest = Nearest(word, candidates);
  return nearest.empty() ? "" : fmt::format(" (did you mean {}?)", nearest);
}

}  // namespace ndlfs::fs
