// SPDX-License-Identifier: MIT
#include "fs/view/dap/parse/constraint.h"

#include <algorithm>
#include <optional>

#include "backends/base/percent_encoding.h"
#include "model/number_text.h"

namespace ndlfs::fs {
namespace {

using model::NotFound;
using model::Quote;
using model::Result;

// "5", "0:9" or "0:2:9", what stands between two brackets.
std::optional<DapRange> ParseRange(std::string_view text) {
  uint64_t numbers[3];
  size_t count = 0;
  for (bool more = true; more;) {
    const size_t colon = std::min(text.find(':'), text.size());
    const auto number = model::ParseNumber<uint64_t>(text.substr(0, colon));
    if (!number || count == 3) return std::nullopt;
    numbers[count++] = *number;
    more = colon < text.size();
    text.remove_prefix(std::min(colon + 1, text.size()));
  }
  DapRange range{.first = numbers[0], .last = numbers[count - 1]};
  if (count == 3) range.stride = numbers[1];
  if (range.stride == 0 || range.last < range.first) return std::nullopt;
  return range;
}

// The ranges in brackets that `text` consists of, as `parse` reads them.
Result<std::vector<DapRange>> ParseRanges(std::string_view text,
                                          std::optional<DapRange> (*parse)(std::string_view)) {
  std::vector<DapRange> out;
  while (!text.empty()) {
    const size_t end = text.find(']');
    const auto range =
        text.front() == '[' && end != text.npos ? parse(text.substr(1, end - 1)) : std::nullopt;
    if (!range) return NotFound("{} is no range of indices", Quote(text));
    if (out.size() == kMostDapRanges) return NotFound("too many ranges");
    out.push_back(*range);
    text.remove_prefix(end + 1);
  }
  return out;
}

Result<DapProjection> ParseProjection(std::string_view text) {
  const size_t bracket = std::min(text.find('['), text.size());
  if (text.find('(') != text.npos)
    return NotFound("functions are not supported: {}", Quote(text));
  DapProjection out;
  out.path = backends::PercentDecodeLeniently(text.substr(0, bracket));
  if (text.substr(0, bracket).find(']') != text.npos) {
    return NotFound("a ']' without a '[': {}", Quote(text));
  }
  if (out.path.empty()) return NotFound("a projection without a name: {}", Quote(text));
  NDLFS_TRY(out.ranges, ParseRanges(text.substr(bracket), &ParseRange));
  return out;
}

// In addition to those of DAP 2: "" for all, and "3:" or "3:2:" up to the end.
std::optional<DapRange> ParseDap4Range(std::string_view text) {
  if (text.empty()) return DapRange{.last = kDapEnd};
  if (!text.ends_with(':')) return ParseRange(text);
  const std::string whole = std::string(text) + std::to_string(kDapEnd);
  return ParseRange(whole);
}

// Splits at `separator`, but not where a backslash stands before it. The parts keep their
// backslashes.
std::vector<std::string_view> SplitUnescaped(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == separator) {
      out.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  out.push_back(text.substr(begin));
  return out;
}

// A name without its backslashes; nullopt for one with a character that means something else.
std::optional<std::string> Unescape(std::string_view name) {
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    if (std::string_view("{}|=").find(name[i]) != std::string_view::npos) return std::nullopt;
    if (name[i] == '\\' && ++i == name.size()) return std::nullopt;
    out += name[i];
  }
  if (out.empty()) return std::nullopt;
  return out;
}

Result<Dap4Projection> ParseDap4Projection(std::string_view text) {
  const std::string_view path = SplitUnescaped(text, '[')[0];
  Dap4Projection out;
  for (std::string_view rest = path.starts_with('/') ? path.substr(1) : path;
       const std::string_view part : SplitUnescaped(rest, '/')) {
    auto name = Unescape(part);
    if (!name) return NotFound("{} is no name of a variable", Quote(text));
    out.path.push_back(*std::move(name));
  }
  NDLFS_TRY(out.ranges, ParseRanges(text.substr(path.size()), &ParseDap4Range));
  return out;
}

}  // namespace

Result<std::vector<Dap4Projection>> ParseDap4Constraint(std::string_view text) {
  std::vector<Dap4Projection> out;
  if (text.empty()) return out;
  for (const std::string_view clause : SplitUnescaped(text, ';')) {
    if (out.size() == kMostProjections) return NotFound("too many projections");
    NDLFS_TRY(Dap4Projection projection, ParseDap4Projection(clause));
    out.push_back(std::move(projection));
  }
  return out;
}

Result<std::vector<DapProjection>> ParseConstraint(std::string_view text) {
  if (text.find('&') != text.npos)
    return NotFound("selections are not supported: {}", Quote(text));
  std::vector<DapProjection> out;
  for (bool more = !text.empty(); more;) {
    if (out.size() == kMostProjections) return NotFound("too many projections");
    const size_t comma = std::min(text.find(','), text.size());
    NDLFS_TRY(DapProjection projection, ParseProjection(text.substr(0, comma)));
    out.push_back(std::move(projection));
    more = comma < text.size();
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return out;
}

}  // namespace ndlfs::fs
