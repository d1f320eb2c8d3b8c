// SPDX-License-Identifier: MIT
#include "fs/view/attributes.h"

#include <algorithm>
#include <array>
#include <utility>

namespace ndlfs::fs {

using model::FindAttribute;
std::optional<model::Value> MissingValue(const backends::Node& node) {
  for (const std::string_view name : {"_FillValue", "missing_value"}) {
    const auto* attribute = FindAttribute(node.attributes(), name);
    const auto* value = attribute == nullptr ? nullptr : OnlyItem(attribute->value);
    if (value != nullptr && AsDouble(*value)) return *value;
  }
  // What zeros mean without an attribute, nobody has said. All values of bytes are in use.
  if (node.array().type.size() < 2) return std::nullopt;
  const auto& fill = node.array().storage.fillvalue;
  if (!fill || !AsDouble(*fill) || *AsDouble(*fill) == 0) return std::nullopt;
  return fill;
}

std::string CfTimeUnits(const model::TimeUnit& unit) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kWords = {
      {{"D", "days"},
       {"h", "hours"},
       {"m", "minutes"},
       {"s", "seconds"},
       {"ms", "milliseconds"},
       {"us", "microseconds"},
       {"ns", "nanoseconds"}}};
  if (unit.scale != 1) return {};
  for (const auto& [symbol, word] : kWords) {
    if (symbol == unit.unit)
      return std::string(word) + (unit.is_delta ? "" : " since 1970-01-01");
  }
  return {};
}

std::string PrintableAscii(std::string_view text) {
  std::string out(text);
  std::ranges::replace_if(
      out, [](char c) { return c < ' ' || c > '~'; }, '?');
  return out;
}

}  // namespace ndlfs::fs
