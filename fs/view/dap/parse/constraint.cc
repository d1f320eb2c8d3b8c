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
  std::string_view rest = text.substr(bracket);
  while (!rest.empty()) {
    const size_t end = rest.find(']');
    const auto range = rest.front() == '[' && end != rest.npos
                           ? ParseRange(rest.substr(1, end - 1))
                           : std::nullopt;
    if (!range) return NotFound("{} is no range of indices", Quote(rest));
    if (out.ranges.size() == kMostDapRanges) return NotFound("too many ranges");
    out.ranges.push_back(*range);
    rest.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace

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
