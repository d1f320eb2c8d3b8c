// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "backends/base/checked.h"
#include "backends/base/json.h"
#include "backends/format/array_source.h"
#include "cache/array_reader.h"
#include "fs/view/base/array_part.h"
#include "fs/view/container/zarr_tree.h"
#include "model/attributes.h"
#include "model/base64.h"
#include "model/value.h"

namespace ndlfs::fs::zarr {
namespace {

using backends::Json;
using model::Datatype;
using model::Result;
using model::Value;

// Empty for types that Zarr v3 has no name for.
std::string TypeName(const Datatype& type) {
  if (type.is_bool()) return "bool";
  if (type.is_complex()) return type.size() == 8 ? "complex64" : "complex128";
  if (type.kind() == Datatype::Kind::kInteger && !type.time()) {
    return fmt::format("{}int{}", type.is_signed() ? "" : "u", 8 * type.size());
  }
  const std::string keyword = type.keyword();
  const bool is_known = keyword == "float16" || keyword == "float32" || keyword == "float64";
  return is_known ? keyword : "";
}

Json RealToJson(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

// nullopt for values that JSON has no words for.
std::optional<Json> ToJson(const Datatype& type, const Value& value) {
  if (value.is_null()) return Json(nullptr);
  if (const auto* list = value.list()) {
    Json items = Json::array();
    for (const Value& item : *list) {
      auto json = ToJson(type, item);
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
    if (auto json = ToJson(attribute.type, attribute.value)) {
      object[attribute.name] = *std::move(json);
    }
  }
  return object;
}

// xarray demands that `_FillValue` is one value in Zarr v3 and, for arrays of floats, the bytes
// of a little-endian double in base64.
Json ArrayAttributes(const ArrayInput& input) {
  constexpr const char* kFillValue = "_FillValue";
  Json object = AttributesToJson(input.node->attributes());
  const auto* fill = model::FindAttribute(input.node->attributes(), kFillValue);
  const Value* value = fill ? model::OnlyItem(fill->value) : nullptr;
  if (value == nullptr || !object.contains(kFillValue)) return object;
  const auto number = model::AsDouble(*value);
  if (input.dtype.kind() == Datatype::Kind::kFloat && number) {
    std::byte bytes[sizeof(double)];
    if (model::EncodeElement(Datatype::Float64(), Value(*number), bytes)) {
      object[kFillValue] = model::EncodeBase64(bytes);
    }
  } else if (auto json = ToJson(fill->type, *value)) {
    object[kFillValue] = *std::move(json);
  }
  return object;
}

// The bytes of a NaN count: they are the fill value.
Json FloatToJson(const Datatype& type, std::span<const std::byte> bytes) {
  const auto value = model::DecodeElement(type, bytes);
  const double* real = value ? value->real() : nullptr;
  if (real != nullptr && !std::isnan(*real)) {
    return ToJson(type, *value).value_or(Json(0));
  }
  std::string hex = "0x";
  for (size_t i = bytes.size(); i-- > 0;) {
    hex += fmt::format("{:02x}", std::to_integer<unsigned>(bytes[i]));
  }
  const bool is_usual = hex == "0x7e00" || hex == "0x7fc00000" || hex == "0x7ff8000000000000";
  return is_usual ? Json("NaN") : Json(hex);
}

Json FillToJson(const Datatype& type, std::span<const std::byte> bytes) {
  if (type.is_complex()) {
    const size_t half = bytes.size() / 2;
    const Datatype part = half == 4 ? Datatype::Float32() : Datatype::Float64();
    return Json::array(
        {FloatToJson(part, bytes.first(half)), FloatToJson(part, bytes.subspan(half))});
  }
  if (type.is_bool()) return Json(bytes[0] != std::byte{0});
  if (type.kind() == Datatype::Kind::kFloat) return FloatToJson(type, bytes);
  const auto value = model::DecodeElement(type, bytes);
  return value ? ToJson(type, *value).value_or(Json(0)) : Json(0);
}

std::string TextOf(const Json& json) {
  // Names and texts need not be UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

// One chunk for all, where the chunks of the source are not those of what is shown.
std::vector<uint64_t> ChunkShapeOf(const ArrayInput& input) {
  if (input.reader != nullptr && input.reader->has_chunks()) {
    const backends::ChunkGrid& grid = input.reader->spec().grid;
    if (grid.is_regular() && grid.array_shape() == input.shape) return grid.max_chunk_shape();
  }
  std::vector<uint64_t> whole = input.shape;
  for (uint64_t& extent : whole) extent = std::max<uint64_t>(extent, 1);
  return whole;
}

std::vector<std::byte> FillOf(const ArrayInput& input) {
  const cache::ArrayReader* reader = input.reader.get();
  if (reader == nullptr && input.part && !input.part->is_converted) {
    reader = input.part->whole.reader.get();
  }
  const size_t size = input.dtype.size();
  if (reader != nullptr && reader->spec().fill.size() == size) return reader->spec().fill;
  return std::vector<std::byte>(size);
}

Json DimensionNames(const ArrayInput& input) {
  Json names = Json::array();
  for (size_t d = 0; d < input.shape.size(); ++d) {
    const std::string name = DimensionName(input, d);
    names.push_back(name.empty() ? Json(nullptr) : Json(name));
  }
  return names;
}

}  // namespace

bool HasType(const Datatype& type) { return !TypeName(type).empty(); }

Result<StoredArray> DescribeArray(const ArrayInput& input) {
  StoredArray array;
  array.shape = input.shape;
  array.chunk_shape = ChunkShapeOf(input);
  array.fill = FillOf(input);
  array.elements = input.elements;
  const auto bytes = backends::CheckedProduct(array.chunk_shape, input.dtype.size());
  if (!bytes || *bytes > backends::kMaxViewSize) {
    return model::Limit("a chunk of more than {} bytes", backends::kMaxViewSize);
  }
  Json codec = {{"name", "bytes"}};
  if (input.dtype.size() > 1) codec["configuration"] = {{"endian", "little"}};
  const Json metadata = {
      {"zarr_format", 3},
      {"node_type", "array"},
      {"shape", array.shape},
      {"data_type", TypeName(input.dtype)},
      {"chunk_grid",
       {{"name", "regular"}, {"configuration", {{"chunk_shape", array.chunk_shape}}}}},
      {"chunk_key_encoding", {{"name", "default"}, {"configuration", {{"separator", "/"}}}}},
      {"fill_value", FillToJson(input.dtype, array.fill)},
      {"codecs", Json::array({std::move(codec)})},
      {"attributes", ArrayAttributes(input)},
      {"dimension_names", DimensionNames(input)},
  };
  array.metadata = TextOf(metadata);
  return array;
}

std::string DescribeGroup(const std::vector<model::Attribute>& attributes,
                          const std::vector<std::string>& left_out) {
  Json object = AttributesToJson(attributes);
  if (!left_out.empty()) object["ndlfs_left_out"] = left_out;
  return TextOf(
      {{"zarr_format", 3}, {"node_type", "group"}, {"attributes", std::move(object)}});
}

}  // namespace ndlfs::fs::zarr
