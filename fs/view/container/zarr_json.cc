// SPDX-License-Identifier: MIT
#include "fs/view/container/zarr_json.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace ndlfs::fs::zarr {
namespace {

using backends::Json;
using model::Datatype;
using model::Value;

Json RealToJson(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

}  // namespace

std::optional<Json> ValueToJson(const Datatype& type, const Value& value) {
  if (value.is_null()) return Json(nullptr);
  if (const auto* list = value.list()) {
    Json items = Json::array();
    for (const Value& item : *list) {
      auto json = ValueToJson(type, item);
      if (!json) return std::nullopt;
      items.push_back(*std::move(json));
    }
    return items;
  }
  if (const auto* text = value.text()) {
    if (type.is_bool()) return Json(*text == "TRUE");
    return Json(*text);
  }
  if (const auto* real = value.real()) {
    // In the digits of the type: 0.1 and not 0.10000000149011612.
    if (!std::isfinite(*real)) return RealToJson(*real);
    return Json::parse(model::FormatFloat(type, *real, /*yaml=*/false), nullptr, false);
  }
  const auto* integer = value.integer();
  if (integer == nullptr) return std::nullopt;
  return Json::parse(model::FormatInteger(*integer), nullptr, false);
}

Json AttributesToJson(const std::vector<model::Attribute>& attributes) {
  Json object = Json::object();
  for (const model::Attribute& attribute : attributes) {
    const std::string* text = attribute.value.text();
    if (attribute.json && text != nullptr) {
      if (auto parsed = backends::ParseJson(*text)) object[attribute.name] = *std::move(parsed);
      continue;
    }
    if (auto json = ValueToJson(attribute.type, attribute.value)) {
      object[attribute.name] = *std::move(json);
    }
  }
  return object;
}

Json FloatToJson(const Datatype& type, std::span<const std::byte> bytes) {
  const auto value = model::DecodeElement(type, bytes);
  const double* real = value ? value->real() : nullptr;
  if (real != nullptr && !std::isnan(*real)) {
    return ValueToJson(type, *value).value_or(Json(0));
  }
  std::string hex = "0x";
  for (size_t i = bytes.size(); i-- > 0;) {
    hex += fmt::format("{:02x}", std::to_integer<unsigned>(bytes[i]));
  }
  const bool is_usual = hex == "0x7e00" || hex == "0x7fc00000" || hex == "0x7ff8000000000000";
  return is_usual ? Json("NaN") : Json(hex);
}

std::string DocumentText(const Json& json) {
  // zarr-python 2 reads consolidated metadata as ASCII.
  return json.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + '\n';
}

}  // namespace ndlfs::fs::zarr
