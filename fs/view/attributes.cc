// SPDX-License-Identifier: MIT
#include "fs/view/attributes.h"

#include <algorithm>
#include <array>
#include <utility>

namespace ndlfs::fs {
namespace {

std::optional<double> AsDouble(const model::Value& value) {
  if (const auto* integer = value.integer()) return static_cast<double>(*integer);
  if (const auto* real = value.real()) return *real;
  return std::nullopt;
}

// The only item of a list, or the value itself.
const model::Value* OnlyItem(const model::Value& value) {
  const auto* list = value.list();
  if (list == nullptr) return &value;
  return list->size() == 1 ? OnlyItem(list->front()) : nullptr;
}

}  // namespace

const model::Attribute* FindAttribute(const std::vector<model::Attribute>& attributes,
                                      std::string_view name) {
  const auto found = std::ranges::find(attributes, name, &model::Attribute::name);
  return found == attributes.end() ? nullptr : &*found;
}

std::string TextOf(const std::vector<model::Attribute>& attributes, std::string_view name) {
  const auto* attribute = FindAttribute(attributes, name);
  const auto* value = attribute == nullptr ? nullptr : OnlyItem(attribute->value);
  return value == nullptr || value->text() == nullptr ? std::string() : *value->text();
}

std::vector<double> NumbersOf(const std::vector<model::Attribute>& attributes,
                              std::string_view name) {
  const auto* attribute = FindAttribute(attributes, name);
  if (attribute == nullptr) return {};
  if (const auto one = AsDouble(attribute->value)) return {*one};
  const auto* list = attribute->value.list();
  if (list == nullptr) return {};
  std::vector<double> numbers;
  for (const model::Value& item : *list) {
    const auto number = AsDouble(item);
    if (!number) return {};
    numbers.push_back(*number);
  }
  return numbers;
}

std::optional<double> NumberOf(const std::vector<model::Attribute>& attributes,
                               std::string_view name) {
  const std::vector<double> numbers = NumbersOf(attributes, name);
  if (numbers.size() != 1) return std::nullopt;
  return numbers.front();
}

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
