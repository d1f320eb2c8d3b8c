// SPDX-License-Identifier: MIT
#include "fs/view/container/zarr_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "backends/format/packing.h"
#include "model/attributes.h"

namespace ndlfs::fs::zarr {
namespace {

using backends::Json;
using model::Datatype;
using model::Value;

constexpr std::string_view kNonFinite[] = {"NaN", "Infinity", "-Infinity"};
// Stands before a word that becomes bare. No text has it by chance.
constexpr std::string_view kBare = "\x01ndlfs\x01";

Json RealToJson(double value) {
  if (std::isfinite(value)) return value;
  return kNonFinite[std::isnan(value) ? 0 : value > 0 ? 1 : 2];
}

bool IsFinite(const Value& value) {
  return value.real() == nullptr || std::isfinite(*value.real());
}

// Marks the texts of `json` that are no text in `value`.
void MarkBare(const Value& value, Json& json) {
  const auto* list = value.list();
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) MarkBare((*list)[i], json[i]);
  if (!IsFinite(value)) json = std::string(kBare) + json.get<std::string>();
}

// The item of a list of one, if there can be no such list, or readers want none.
const Value& WithoutList(const model::Attribute& attribute, bool has_lists) {
  const Value* item = model::OnlyItem(attribute.value);
  const bool keeps_list =
      has_lists && std::ranges::count(backends::PackingAttributes(), attribute.name) == 0;
  return item == nullptr || keeps_list ? attribute.value : *item;
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
  if (value.real() != nullptr) return RealToJson(*value.real());
  const auto* integer = value.integer();
  if (integer == nullptr) return std::nullopt;
  return Json::parse(model::FormatInteger(*integer), nullptr, false);
}

Json AttributesToJson(const std::vector<model::Attribute>& attributes, bool has_lists,
                      bool has_bare_nan) {
  Json object = Json::object();
  Json left_out = Json::array();
  for (const model::Attribute& attribute : attributes) {
    const std::string* text = attribute.value.text();
    if (attribute.json && text != nullptr) {
      if (auto parsed = backends::ParseJson(*text)) object[attribute.name] = *std::move(parsed);
      continue;
    }
    const Value& value = WithoutList(attribute, has_lists);
    if (auto json = ValueToJson(attribute.type, value)) {
      if (has_bare_nan) MarkBare(value, *json);
      object[attribute.name] = *std::move(json);
    } else {
      left_out.push_back(fmt::format("{}: JSON has no attributes of {}",
                                     model::OneLine(attribute.name), attribute.type.keyword()));
    }
  }
  if (!left_out.empty()) object["ndlfs_left_out"] = std::move(left_out);
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
  std::string text = json.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  for (const std::string_view word : kNonFinite) {
    const std::string marked = fmt::format("\"\\u0001ndlfs\\u0001{}\"", word);
    for (size_t at = 0; (at = text.find(marked, at)) != text.npos; at += word.size()) {
      text.replace(at, marked.size(), word);
    }
  }
  return text + '\n';
}

}  // namespace ndlfs::fs::zarr
