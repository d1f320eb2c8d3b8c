// SPDX-License-Identifier: MIT
#include "fs/view/base/attributes.h"

#include <algorithm>
#include <array>
#include <utility>

namespace ndlfs::fs {

std::string CfTimeUnits(const model::TimeUnit& unit) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kWords = {
      {{"D", "days"},
       {"h", "hours"},
       {"m", "minutes"},
       {"s", "seconds"},
       {"ms", "milliseconds"},
       {"us", "microseconds"},
       {"ns", "nanoseconds"},
       {"ps", "picoseconds"},
       {"fs", "femtoseconds"},
       {"as", "attoseconds"}}};
  if (unit.scale != 1) return {};
  // UDUNITS has months and years of a fixed length, which suit differences alone.
  if (unit.is_delta && unit.unit == "M") return "months";
  if (unit.is_delta && unit.unit == "Y") return "years";
  for (const auto& [symbol, word] : kWords) {
    if (symbol == unit.unit)
      return std::string(word) + (unit.is_delta ? "" : " since 1970-01-01");
  }
  return {};
}

std::string EncodingOfText(const model::Datatype& type) {
  if (type.kind() != model::Datatype::Kind::kString || !type.is_fixed_size()) return {};
  if (type.charset() == model::Charset::kAscii) return {};
  return type.charset() == model::Charset::kLatin1 ? "ISO-8859-1" : "UTF-8";
}

std::string PrintableAscii(std::string_view text) {
  std::string out(text);
  std::ranges::replace_if(
      out, [](char c) { return c < ' ' || c > '~'; }, '?');
  return out;
}

}  // namespace ndlfs::fs
