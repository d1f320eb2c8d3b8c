// SPDX-License-Identifier: MIT
#include "backends/format/grib/sidecar.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace ndlfs::backends::grib {
namespace {

constexpr size_t kMostOffsets = 1'000'000;

std::optional<uint64_t> LeadingNumber(std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == text.npos) return std::nullopt;
  text.remove_prefix(begin);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

std::optional<uint64_t> OffsetOf(std::string_view line) {
  if (line.starts_with('{')) {
    constexpr std::string_view kKey = "\"_offset\":";
    const size_t at = line.find(kKey);
    return at == line.npos ? std::nullopt : LeadingNumber(line.substr(at + kKey.size()));
  }
  const size_t colon = line.find(':');
  if (colon == line.npos || !LeadingNumber(line)) return std::nullopt;
  return LeadingNumber(line.substr(colon + 1));
}

}  // namespace

std::vector<uint64_t> ReadSidecar(std::string_view text) {
  std::vector<uint64_t> offsets;
  while (!text.empty() && offsets.size() < kMostOffsets) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (const auto offset = OffsetOf(text.substr(0, end))) offsets.push_back(*offset);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  std::ranges::sort(offsets);
  offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
  return offsets;
}

}  // namespace ndlfs::backends::grib
