// SPDX-License-Identifier: MIT
#include "fs/http/parse/ranges.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "fs/http/parse/fields.h"
#include "model/number_text.h"

namespace ndlfs::fs {
namespace {

constexpr RangeRequest::Kind kUnsatisfiable = RangeRequest::Kind::kUnsatisfiable;

// Digits only. A number that is too large for the type is larger than any file.
std::optional<uint64_t> ParsePosition(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789") != text.npos) return std::nullopt;
  return model::ParseNumber<uint64_t>(text).value_or(std::numeric_limits<uint64_t>::max());
}

struct Spec {
  bool is_valid = false;
  std::optional<FileRange> range = {};  // nullopt if the file has none of these bytes
};

// "0-499", "500-" or "-500".
Spec ParseSpec(std::string_view text, uint64_t size) {
  const size_t dash = text.find('-');
  if (dash == text.npos) return {};
  if (dash == 0) {
    const auto length = ParsePosition(text.substr(1));
    if (!length) return {};
    const uint64_t count = std::min(*length, size);
    if (count == 0) return {.is_valid = true};
    return {.is_valid = true, .range = FileRange{size - count, count}};
  }
  const auto first = ParsePosition(text.substr(0, dash));
  const std::string_view end = text.substr(dash + 1);
  const auto last =
      end.empty() ? std::optional(std::numeric_limits<uint64_t>::max()) : ParsePosition(end);
  if (!first || !last || *last < *first) return {};
  if (*first >= size) return {.is_valid = true};
  return {.is_valid = true, .range = FileRange{*first, std::min(*last, size - 1) - *first + 1}};
}

// Ranges that overlap or touch are one range, so that no byte is sent twice.
void Merge(std::vector<FileRange>& parts) {
  std::vector<FileRange> sorted = parts;
  std::ranges::sort(sorted, {}, &FileRange::offset);
  std::vector<FileRange> merged;
  for (const FileRange& part : sorted) {
    const bool touches =
        !merged.empty() && part.offset <= merged.back().offset + merged.back().length;
    if (!touches) {
      merged.push_back(part);
      continue;
    }
    FileRange& last = merged.back();
    last.length = std::max(last.length, part.offset - last.offset + part.length);
  }
  if (merged.size() < parts.size()) parts = std::move(merged);
}

}  // namespace

RangeRequest ParseRanges(std::string_view field, uint64_t size) {
  constexpr std::string_view kUnit = "bytes=";
  field = TrimBlanks(field);
  if (!StartsWithIgnoringCase(field, kUnit)) return {};
  field.remove_prefix(kUnit.size());
  RangeRequest out{.kind = kUnsatisfiable};
  size_t count = 0;
  for (bool more = true; more;) {
    const size_t comma = std::min(field.find(','), field.size());
    const std::string_view text = TrimBlanks(field.substr(0, comma));
    more = comma < field.size();
    field.remove_prefix(std::min(comma + 1, field.size()));
    if (text.empty()) continue;  // RFC 9110, section 5.6.1
    if (++count > kMostRanges) return {.kind = kUnsatisfiable};
    const Spec spec = ParseSpec(text, size);
    if (!spec.is_valid) return {};
    if (spec.range) out.parts.push_back(*spec.range);
  }
  if (count == 0) return {};
  Merge(out.parts);
  if (!out.parts.empty()) out.kind = RangeRequest::Kind::kParts;
  return out;
}

}  // namespace ndlfs::fs
