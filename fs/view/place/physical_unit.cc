// SPDX-License-Identifier: MIT
#include "fs/view/place/physical_unit.h"

#include <algorithm>
#include <array>
#include <span>

namespace ndlfs::fs {
namespace {

struct Prefix {
  std::string_view word;
  std::string_view symbol;
  double factor;
};

constexpr std::array<Prefix, 21> kPrefixes = {
    {{"yotta", "Y", 1e24}, {"zetta", "Z", 1e21},  {"exa", "E", 1e18},
     {"peta", "P", 1e15},  {"tera", "T", 1e12},   {"giga", "G", 1e9},
     {"mega", "M", 1e6},   {"kilo", "k", 1e3},    {"hecto", "h", 1e2},
     {"deca", "da", 1e1},  {"", "", 1},           {"deci", "d", 1e-1},
     {"centi", "c", 1e-2}, {"milli", "m", 1e-3},  {"micro", "\u00b5", 1e-6},
     {"nano", "n", 1e-9},  {"pico", "p", 1e-12},  {"femto", "f", 1e-15},
     {"atto", "a", 1e-18}, {"zepto", "z", 1e-21}, {"yocto", "y", 1e-24}}};

struct OtherUnit {
  std::string_view word;
  std::string_view symbol;
  double size;
};

constexpr std::array<OtherUnit, 13> kOtherLengths = {{
#include "fs/view/place/other_lengths.inc"
}};

constexpr std::array<OtherUnit, 9> kOtherTimes = {{
#include "fs/view/place/other_times.inc"
}};

// "micrometers" and "micrometres" are "micrometer".
std::string AsWord(std::string_view text) {
  std::string word(text);
  if (word.size() > 2 && word.ends_with('s')) word.pop_back();
  if (word.ends_with("metre")) word.replace(word.size() - 2, 2, "er");
  return word;
}

std::optional<PhysicalUnit> FindUnit(std::string_view text, std::string_view base_word,
                                     std::string_view base_symbol,
                                     std::span<const OtherUnit> others) {
  constexpr size_t kLongestUnit = 32;
  if (text.empty() || text.size() > kLongestUnit) return std::nullopt;
  const std::string word = AsWord(text);
  for (const Prefix& prefix : kPrefixes) {
    const std::string symbol = std::string(prefix.symbol).append(base_symbol);
    if (text == symbol || word == std::string(prefix.word).append(base_word)) {
      return PhysicalUnit{symbol, prefix.factor};
    }
  }
  for (const OtherUnit& other : others) {
    if (text == other.word || word == other.word) {
      return PhysicalUnit{std::string(other.symbol), other.size};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<PhysicalUnit> LengthUnitOf(std::string_view text) {
  return FindUnit(text, "meter", "m", kOtherLengths);
}

std::optional<PhysicalUnit> TimeUnitOf(std::string_view text) {
  return FindUnit(text, "second", "s", kOtherTimes);
}

}  // namespace ndlfs::fs
