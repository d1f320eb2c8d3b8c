// SPDX-License-Identifier: MIT
#include "fs/view/elements/selection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "model/value.h"

namespace ndlfs::fs {
namespace {

using model::Result;
using model::WideInt;

// More than any dimension has: an index as large as this is only known to be outside.
constexpr int64_t kHuge = 1'000'000'000'000'000'000;

std::optional<int64_t> ParseInteger(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  int64_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number >= kHuge / 10 ? kHuge : number * 10 + (c - '0');
  }
  return is_negative ? -number : number;
}

// As Python's slice.indices() does it.
IndexRange Clip(std::optional<int64_t> start, std::optional<int64_t> stop, int64_t step,
                uint64_t extent) {
  const auto n = static_cast<WideInt>(extent);
  const WideInt low = step < 0 ? -1 : 0;
  const WideInt high = step < 0 ? n - 1 : n;
  const auto clip = [&](std::optional<int64_t> index, WideInt missing) {
    if (!index) return missing;
    const WideInt from_begin = *index < 0 ? *index + n : WideInt{*index};
    return std::clamp(from_begin, low, high);
  };
  const WideInt first = clip(start, step < 0 ? high : low);
  const WideInt end = clip(stop, step < 0 ? low : high);
  const WideInt distance = step < 0 ? first - end : end - first;
  const WideInt width = step < 0 ? -WideInt{step} : WideInt{step};
  if (distance <= 0) return {};
  const auto count = static_cast<uint64_t>((distance + width - 1) / width);
  return {.begin = static_cast<uint64_t>(first), .count = count, .step = count == 1 ? 1 : step};
}

model::Failure NoSlice(std::string_view text) {
  return model::NotFound("{} is neither an index nor a slice", model::Quote(text));
}

Result<IndexRange> ParseIndex(std::string_view text, uint64_t extent) {
  const auto index = ParseInteger(text);
  if (!index) return NoSlice(text);
  const WideInt from_begin = *index < 0 ? *index + static_cast<WideInt>(extent) : *index;
  if (from_begin < 0 || from_begin >= static_cast<WideInt>(extent)) {
    return model::NotFound("index {} is outside of a dimension of {}", text, extent);
  }
  return IndexRange{.begin = static_cast<uint64_t>(from_begin), .count = 1, .is_dropped = true};
}

std::string FormatRange(const IndexRange& range, uint64_t extent) {
  if (range.is_dropped) return fmt::format("{}", range.begin);
  if (range == WholeRange(extent)) return ":";
  if (range.count == 0) return "0:0";
  const uint64_t last = range.At(range.count - 1);
  if (range.step == 1) return fmt::format("{}:{}", range.begin, last + 1);
  if (range.step > 0) return fmt::format("{}:{}:{}", range.begin, last + 1, range.step);
  if (last == 0) return fmt::format("{}::{}", range.begin, range.step);
  return fmt::format("{}:{}:{}", range.begin, last - 1, range.step);
}

}  // namespace

std::vector<uint64_t> ShapeOf(const Selection& selection) {
  std::vector<uint64_t> shape;
  for (const IndexRange& range : selection) {
    if (!range.is_dropped) shape.push_back(range.count);
  }
  return shape;
}

IndexRange WholeRange(uint64_t extent) { return {.begin = 0, .count = extent}; }

IndexRange InclusiveRange(uint64_t first, uint64_t last, uint64_t step) {
  const uint64_t count = (last - first) / step + 1;
  return {.begin = first, .count = count, .step = count == 1 ? 1 : static_cast<int64_t>(step)};
}

Result<IndexRange> ParseIndexRange(std::string_view text, uint64_t extent) {
  if (extent >= static_cast<uint64_t>(kHuge)) {
    return model::Limit("no slices of a dimension of {}", extent);
  }
  if (text.find(':') == std::string_view::npos) return ParseIndex(text, extent);
  std::array<std::optional<int64_t>, 3> numbers;
  std::string_view rest = text;
  for (size_t i = 0;; ++i) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    const std::string_view part = rest.substr(0, colon);
    if (i == numbers.size()) return NoSlice(text);
    if (!part.empty()) {
      numbers[i] = ParseInteger(part);
      if (!numbers[i]) return NoSlice(text);
    }
    if (colon == rest.size()) break;
    rest.remove_prefix(colon + 1);
  }
  const int64_t step = numbers[2].value_or(1);
  if (step == 0) return model::NotFound("{} has a step of 0", model::Quote(text));
  return Clip(numbers[0], numbers[1], step, extent);
}

std::string FormatSelection(const Selection& selection, const std::vector<uint64_t>& extents) {
  std::vector<std::string> items;
  for (size_t d = 0; d < selection.size(); ++d) {
    items.push_back(FormatRange(selection[d], extents[d]));
  }
  while (!items.empty() && items.back() == ":") items.pop_back();
  if (items.empty()) return "...";
  return fmt::format("{}", fmt::join(items, ","));
}

}  // namespace ndlfs::fs
