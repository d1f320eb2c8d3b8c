// SPDX-License-Identifier: MIT
#include "model/attributes.h"

#include <algorithm>
#include <utility>

#include "model/utf8.h"

namespace ndlfs::model {

Result<void> AttributeRoom::Take(std::string_view name, uint64_t values, uint64_t text_bytes) {
  // Twice: what it is made of is there as well, and a document has its text.
  constexpr uint64_t kBytesOfName = 2 * sizeof(Attribute) + 32;
  const bool fits = values <= kMostValues && text_bytes <= kMostBytes;
  const uint64_t bytes = kBytesOfName + name.size() + values * sizeof(Value) + text_bytes;
  if (fits && bytes <= left_) {
    left_ -= bytes;
    return {};
  }
  if (!fits || bytes > kMostBytes) {
    return Limit(
        "attribute {} is not shown: {} values and {} bytes of text; an object may have "
        "{} MiB of attributes",
        Quote(name), values, text_bytes, kMostBytes >> 20);
  }
  return Limit(
      "attribute {} is not shown: the others take the {} MiB that the attributes of an "
      "object may have",
      Quote(name), kMostBytes >> 20);
}

Attribute MakeTextAttribute(std::string name, std::string_view text) {
  Attribute made;
  made.name = std::move(name);
  made.type = Datatype::String();
  made.value = AsUtf8(text);
  if (!IsUtf8(text)) made.storage.charset = "iso-8859-1";
  return made;
}

std::optional<double> AsDouble(const Value& value) {
  if (const auto* integer = value.integer()) return static_cast<double>(*integer);
  if (const auto* real = value.real()) return *real;
  return std::nullopt;
}

// The only item of a list, or the value itself.
const Value* OnlyItem(const Value& value) {
  const auto* list = value.list();
  if (list == nullptr) return &value;
  return list->size() == 1 ? OnlyItem(list->front()) : nullptr;
}

const Attribute* FindAttribute(const std::vector<Attribute>& attributes,
                               std::string_view name) {
  const auto found = std::ranges::find(attributes, name, &Attribute::name);
  return found == attributes.end() ? nullptr : &*found;
}

std::string TextOf(const std::vector<Attribute>& attributes, std::string_view name) {
  const auto* attribute = FindAttribute(attributes, name);
  const auto* value = attribute == nullptr ? nullptr : OnlyItem(attribute->value);
  return value == nullptr || value->text() == nullptr ? std::string() : *value->text();
}

std::vector<double> NumbersOf(const std::vector<Attribute>& attributes, std::string_view name) {
  const auto* attribute = FindAttribute(attributes, name);
  if (attribute == nullptr) return {};
  if (const auto one = AsDouble(attribute->value)) return {*one};
  const auto* list = attribute->value.list();
  if (list == nullptr) return {};
  std::vector<double> numbers;
  for (const Value& item : *list) {
    const auto number = AsDouble(item);
    if (!number) return {};
    numbers.push_back(*number);
  }
  return numbers;
}

std::optional<double> NumberOf(const std::vector<Attribute>& attributes,
                               std::string_view name) {
  const std::vector<double> numbers = NumbersOf(attributes, name);
  if (numbers.size() != 1) return std::nullopt;
  return numbers.front();
}

}  // namespace ndlfs::model
