// SPDX-License-Identifier: MIT
#include "fs/cli/base/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "model/spelling.h"

namespace ndlfs::fs {
namespace {

// Nobody types longer words by mistake.
constexpr size_t kMaxLength = 64;
// Shorter ones are as near to one word as to another.
constexpr size_t kMinLength = 3;

}  // namespace

std::string_view Nearest(std::string_view word, std::span<const std::string_view> candidates) {
  for (const std::string_view candidate : candidates) {
    if (model::EqualsIgnoringCase(word, candidate)) return candidate;
  }
  if (word.size() < kMinLength || word.size() > kMaxLength) return {};
  std::string_view nearest;
  // Beyond a third of its letters it is another word.
  size_t limit = word.size() / 3;
  for (const std::string_view candidate : candidates) {
    // Words cut short, or too long, come after mere slips.
    const bool begins = candidate.starts_with(word) || word.starts_with(candidate);
    const size_t slips = model::SpellingDistance(word, candidate);
    const size_t distance = begins ? std::min(slips, limit) : slips;
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
