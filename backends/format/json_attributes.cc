// SPDX-License-Identifier: MIT
#include "backends/format/json_attributes.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

#include "backends/base/json_scan.h"
#include "model/string_hash.h"

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

// The common kind of the scalars of a list.
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

model::Result<void> TakeRoom(model::AttributeRoom& room, std::string_view name,
                             const Json& value) {
  if (value.is_string()) {
    return room.Take(name, 1, value.get_ref<const std::string&>().size());
  }
  const bool is_list = value.is_array() &&
                       CommonKind(value.get_ref<const Json::array_t&>()) != ScalarKind::kOther;
  if (is_list) {
    uint64_t text_bytes = 0;
    for (const Json& item : value) {
      if (item.is_string()) text_bytes += item.get_ref<const std::string&>().size();
    }
    return room.Take(name, value.size(), text_bytes);
  }
  // It becomes compact JSON.
  return room.Take(name, 1, value.is_structured() ? CompactJson(value).size() : 0);
}

model::Result<std::vector<model::Attribute>> MakeAttributes(
    const Json& object, std::optional<model::Error>* left_out) {
  if (!object.is_object()) {
    return model::BadInput("attributes: expected an object, found {}", DescribeJson(object));
  }
  model::AttributeRoom room;
  std::vector<model::Attribute> attributes;
  for (const auto& [name, value] : object.items()) {
    if (auto fits = TakeRoom(room, name, value); !fits) {
      if (left_out != nullptr && !*left_out) *left_out = std::move(fits).error();
      continue;
    }
    attributes.push_back(MakeAttribute(name, value));
  }
  return attributes;
}

model::Result<Json> ParseAttributeObject(std::string_view text,
                                         std::optional<model::Error>* left_out) {
  // A list of numbers takes less text than memory, a long text as much.
  constexpr size_t kParsedAsAWhole = size_t{64} << 10;
  constexpr size_t kMostMembers = 16'384;
  if (text.size() <= kParsedAsAWhole || !text.starts_with('{')) {
    return ParseJson(text, kMostMembers + model::AttributeRoom::kMostValues);
  }
  NDLFS_TRY(const auto members, ScanJsonObject(text, kMostMembers));
  Json::object_t object;
  // The base class, whose operator[] takes an index and not a key.
  Json::object_t::Container& parsed_members = object;
  std::unordered_map<std::string_view, size_t, model::StringHash, std::equal_to<>> places;
  uint64_t bytes_left = model::AttributeRoom::kMostBytes;
  size_t values_left = kMostMembers + model::AttributeRoom::kMostValues;
  for (const JsonMember& member : members) {
    const std::string_view value = text.substr(member.begin, member.end - member.begin);
    auto parsed = value.size() > bytes_left ? model::Limit("{} bytes of JSON", value.size())
                                            : ParseJson(value, values_left, &values_left);
    if (!parsed && parsed.error().code() != model::ErrorCode::kLimit) {
      return model::Propagate(std::move(parsed).error());
    }
    if (!parsed) {
      if (left_out != nullptr && !*left_out) {
        *left_out = std::move(parsed).error().In(
            fmt::format("attribute {} is not shown", model::Quote(member.key)));
      }
      continue;
    }
    bytes_left -= value.size();
    const auto [place, is_new] = places.emplace(member.key, parsed_members.size());
    if (is_new) {
      parsed_members.emplace_back(member.key, *std::move(parsed));
    } else {  // the last value counts
      parsed_members[place->second].second = *std::move(parsed);
    }
  }
  return Json(std::move(object));
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
