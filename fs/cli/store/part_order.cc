// SPDX-License-Identifier: MIT
#include "fs/cli/store/part_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace ndlfs::fs {
namespace {

// Steps may differ so much, as floats are rounded.
constexpr double kRounding = 1e-3;

bool AreClose(double a, double b) { return std::abs(a - b) <= kRounding * std::abs(a); }

// The distance that most neighbours have, also those of which each is in another part; 0 if
// there is none.
double CommonStep(const std::vector<PartPlace>& parts) {
  std::map<double, size_t> counts;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].step) ++counts[*parts[i].step];
    if (i > 0) ++counts[*parts[i].first - *parts[i - 1].last];
  }
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
  return most == counts.end() ? 0 : most->first;
}

// What is between two neighbours; `sign` is that of the direction. Empty if nothing is wrong.
std::string_view Between(const PartPlace& a, const PartPlace& b, double step, double sign) {
  const double distance = sign * (*b.first - *a.last);
  if (*a.first == *b.first && *a.last == *b.last) return "duplicate";
  if (distance <= 0) return "overlap";
  // Months and years have different lengths, so that no distance is the common one.
  const double longest = std::max(a.longest, b.longest);
  const bool is_irregular = longest != 0 && !a.step && !b.step;
  const double expected = is_irregular ? longest : std::abs(step);
  return expected != 0 && distance > 1.5 * expected ? "gap" : "";
}

}  // namespace

void PartPlace::SetCoordinates(std::span<const double> coordinates) {
  if (coordinates.empty()) return;
  if (!std::ranges::all_of(coordinates, [](double number) { return std::isfinite(number); })) {
    return;
  }
  first = coordinates.front();
  last = coordinates.back();
  if (coordinates.size() < 2) return;
  step = coordinates[1] - coordinates[0];
  for (size_t i = 1; i < coordinates.size(); ++i) {
    longest = std::max(longest, std::abs(coordinates[i] - coordinates[i - 1]));
  }
  for (size_t i = 2; i < coordinates.size(); ++i) {
    if (AreClose(*step, coordinates[i] - coordinates[i - 1])) continue;
    step.reset();
    return;
  }
}

PartOrder SortParts(std::vector<PartPlace>& parts) {
  PartOrder order;
  if (!std::ranges::all_of(parts, [](const auto& part) { return part.first.has_value(); })) {
    return order;
  }
  const bool descends =
      std::ranges::any_of(parts, [](const auto& part) { return *part.last < *part.first; });
  const double sign = descends ? -1 : 1;
  std::ranges::stable_sort(parts, {}, [&](const auto& part) { return sign * *part.first; });
  const double step = CommonStep(parts);
  for (size_t i = 1; i < parts.size(); ++i) {
    const std::string_view what = Between(parts[i - 1], parts[i], step, sign);
    if (what.empty()) continue;
    if (what != "gap") order.overlaps = true;
    order.notes.push_back(fmt::format("{}: {} and {}", what, parts[i - 1].name, parts[i].name));
  }
  return order;
}

}  // namespace ndlfs::fs
