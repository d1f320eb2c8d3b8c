// SPDX-License-Identifier: MIT
#include "backends/format/json_attributes.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "backends/base/json_exact.h"

namespace ndlfs::backends {
namespace {

using model::Datatype;
using model::WideInt;

WideInt IntegerOf(const Json& value) {
  return value.is_number_unsigned() ? WideInt{value.get<uint64_t>()}
                                    : WideInt{value.get<int64_t>()};
}

// Whether a float64 holds it without loss.
bool IsExactReal(const Json& value) {
  if (!value.is_number_integer()) return value.is_number_float();
  const WideInt number = IntegerOf(value);
  return static_cast<WideInt>(static_cast<double>(number)) == number;
}

model::Value BoolValue(bool value) { return value ? "TRUE" : "FALSE"; }

// What the scalars of a list have in common.
enum class ScalarKind { kBool, kInteger, kReal, kText, kOther };

ScalarKind KindOf(const Json& value) {
  if (value.is_boolean()) return ScalarKind::kBool;
  if (value.is_number_integer()) return ScalarKind::kInteger;
  if (value.is_number_float()) return ScalarKind::kReal;
  if (value.is_string()) return ScalarKind::kText;
  return ScalarKind::kOther;
}

// Integers among other numbers are float64, unless one of them would be another
// number then.
ScalarKind CommonKind(const Json::array_t& items) {
  if (items.empty()) return ScalarKind::kOther;
  const ScalarKind first = KindOf(items.front());
  const bool is_uniform = std::all_of(items.begin(), items.end(),
                                      [&](const Json& item) { return KindOf(item) == first; });
  if (is_uniform) return first;
  return std::all_of(items.begin(), items.end(), IsExactReal) ? ScalarKind::kReal
                                                              : ScalarKind::kOther;
}

// The smallest of int32, int64 and uint64 that holds both; nullopt if none.
std::optional<Datatype> FittingInteger(WideInt lowest, WideInt highest) {
  if (lowest >= std::numeric_limits<int32_t>::min() &&
      highest <= std::numeric_limits<int32_t>::max()) {
    return Datatype::Integer(4, true);
  }
  if (highest <= std::numeric_limits<int64_t>::max()) return Datatype::Integer(8, true);
  if (lowest >= 0) return Datatype::Integer(8, false);
  return std::nullopt;
}

std::optional<Datatype> FittingType(ScalarKind kind, std::span<const Json> items) {
  switch (kind) {
    case ScalarKind::kBool:
      return Datatype::Bool();
    case ScalarKind::kInteger: {
      WideInt lowest = IntegerOf(items.front());
      WideInt highest = lowest;
      for (const Json& item : items) {
        lowest = std::min(lowest, IntegerOf(item));
        highest = std::max(highest, IntegerOf(item));
      }
      return FittingInteger(lowest, highest);
    }
    case ScalarKind::kReal:
      return Datatype::Float64();
    case ScalarKind::kText:
      return Datatype::String();
    case ScalarKind::kOther:
      return std::nullopt;
  }
  return std::nullopt;
}

model::Value ScalarValue(ScalarKind kind, const Json& item) {
  switch (kind) {
    case ScalarKind::kBool:
      return BoolValue(item.get<bool>());
    case ScalarKind::kInteger:
      return IntegerOf(item);
    case ScalarKind::kReal:
      return item.get<double>();
    default:
      return item.get_ref<const std::string&>();
  }
}

}  // namespace

model::Attribute MakeAttribute(std::string name, const Json& value) {
  model::Attribute attribute{.name = std::move(name),
                             .type = {},
                             .shape = {},
                             .value = {},
                             .storage = {},
                             .json = false};
  const bool is_list = value.is_array();
  const ScalarKind kind =
      is_list ? CommonKind(value.get_ref<const Json::array_t&>()) : KindOf(value);
  const std::span<const Json> items =
      is_list ? std::span<const Json>(value.get_ref<const Json::array_t&>())
              : std::span<const Json>(&value, 1);
  const std::optional<Datatype> type = FittingType(kind, items);
  if (!type) {
    attribute.type = Datatype::String();
    attribute.value = CompactJson(value);
    attribute.json = true;
    return attribute;
  }
  attribute.type = *type;
  if (!is_list) {
    attribute.value = ScalarValue(kind, value);
    return attribute;
  }
  attribute.shape = {items.size()};
  model::Value::List list;
  list.reserve(items.size());
  for (const Json& item : items) list.push_back(ScalarValue(kind, item));
  attribute.value = std::move(list);
  return attribute;
}

model::Result<std::vector<model::Attribute>> MakeAttributes(const Json& object) {
  if (!object.is_object()) {
    return model::BadInput("attributes: expected an object, found {}", DescribeJson(object));
  }
  std::vector<model::Attribute> attributes;
  attributes.reserve(object.size());
  for (const auto& [name, value] : object.items()) {
    attributes.push_back(MakeAttribute(name, value));
  }
  return attributes;
}

model::Value JsonToValue(const Json& value) {
  if (value.is_object()) {
    model::Value::Map map;
    for (const auto& [key, member] : value.items()) map.emplace_back(key, JsonToValue(member));
    return map;
  }
  if (value.is_array()) {
    model::Value::List list;
    for (const Json& item : value) list.push_back(JsonToValue(item));
    return list;
  }
  if (!BigInteger(value).empty()) return std::string(BigInteger(value));
  const ScalarKind kind = KindOf(value);
  return kind == ScalarKind::kOther ? model::Value() : ScalarValue(kind, value);
}

}  // namespace ndlfs::backends
