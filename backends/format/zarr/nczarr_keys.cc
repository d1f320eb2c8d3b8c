// SPDX-License-Identifier: MIT
#include "backends/format/zarr/nczarr_keys.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "backends/base/json_scan.h"
#include "backends/base/numpy_dtype.h"
#include "backends/format/json_attributes.h"
#include "model/path_name.h"
#include "model/value.h"

namespace ndlfs::backends::nczarr {
namespace {

using model::Datatype;
using model::Value;

constexpr std::string_view kAnonymousPrefix = "_Anonymous_Dim";
constexpr const char* kArrayDimensions = "_ARRAY_DIMENSIONS";

struct Key {
  const char* lower;
  const char* upper;
  const char* separate;
};
constexpr Key kArray = {"_nczarr_array", "_NCZARR_ARRAY", "array"};
constexpr Key kGroup = {"_nczarr_group", "_NCZARR_GROUP", "group"};
constexpr Key kAttributes = {"_nczarr_attr", "_NCZARR_ATTR", "attr"};
constexpr Key kSuperblock = {"_nczarr_superblock", "_NCZARR_SUPERBLOCK", "superblock"};

const Json* FindMember(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto it = object.find(key);
  return it == object.end() ? nullptr : &*it;
}

// The object of a key, newest place first.
const Json* Find(const Documents& documents, const Key& key) {
  for (const Json* place : {&documents.attributes, &documents.document}) {
    for (const char* name : {key.lower, key.upper}) {
      const Json* found = FindMember(*place, name);
      if (found && found->is_object()) return found;
    }
  }
  const Json* found = FindMember(documents.separate, key.separate);
  return found && found->is_object() ? found : nullptr;
}

// One of two spellings of a member.
const Json* FindEither(const Json& object, const char* newer, const char* older) {
  const Json* found = FindMember(object, newer);
  return found ? found : FindMember(object, older);
}

bool IsTrue(const Json* json) {
  return json && ((json->is_boolean() && json->get<bool>()) ||
                  (json->is_number_integer() && *json != 0));
}

std::optional<std::vector<DimensionRef>> ParseDimensionRefs(const Json& json) {
  if (!json.is_array()) return std::nullopt;
  std::vector<DimensionRef> refs;
  for (const Json& name : json) {
    if (!name.is_string()) return std::nullopt;
    auto ref = ParseDimensionRef(name.get_ref<const std::string&>());
    if (!ref) return std::nullopt;
    refs.push_back(*std::move(ref));
  }
  return refs;
}

// A size, or {"size": 3, "unlimited": 1}.
std::optional<Dimension> ParseDimension(const Json& json) {
  const Json* size_json = json.is_object() ? FindMember(json, "size") : &json;
  if (!size_json) return std::nullopt;
  const auto size = JsonToSize(*size_json);
  if (!size) return std::nullopt;
  return Dimension{*size, IsTrue(FindMember(json, "unlimited"))};
}

bool IsText(const Datatype& type) { return type.kind() == Datatype::Kind::kString; }

// A JSON number, or one of the names of those that JSON has not.
std::optional<Value> NumberOf(const Json& json, const Datatype& type) {
  if (json.is_number_unsigned()) return Value(model::WideInt{json.get<uint64_t>()});
  if (json.is_number_integer()) return Value(model::WideInt{json.get<int64_t>()});
  if (const auto real = JsonToReal(json)) return Value(*real);
  if (type.kind() != Datatype::Kind::kFloat) return std::nullopt;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (json == "NaN") return Value(std::numeric_limits<double>::quiet_NaN());
  if (json == "Infinity") return Value(kInfinity);
  if (json == "-Infinity") return Value(-kInfinity);
  return std::nullopt;
}

// One item as a value of `type`; nullopt if it is none.
std::optional<Value> ScalarOf(const Json& json, const Datatype& type) {
  if (IsText(type)) {
    if (!json.is_string()) return std::nullopt;
    return Value(json.get<std::string>());
  }
  auto value = NumberOf(json, type);
  if (!value) return std::nullopt;
  if (const model::WideInt* integer = value->integer();
      integer && type.kind() == Datatype::Kind::kFloat) {
    value = Value(static_cast<double>(*integer));
  }
  // Through its bytes, so that a float32 is the one that is meant.
  std::vector<std::byte> bytes(type.size());
  if (!model::EncodeElement(type, *value, bytes)) return std::nullopt;
  auto decoded = model::DecodeElement(type, bytes);
  return decoded ? std::optional(*std::move(decoded)) : std::nullopt;
}

// The type that a NumPy type string names in an attribute: numbers as they
// are, any text a string.
std::optional<Datatype> AttributeType(const Json& json) {
  if (!json.is_string()) return std::nullopt;
  const auto type = NumpyDtype(json.get_ref<const std::string&>());
  if (!type) return std::nullopt;
  if (IsText(*type)) return Datatype::String();
  const bool is_number =
      type->kind() == Datatype::Kind::kInteger || type->kind() == Datatype::Kind::kFloat;
  return is_number ? std::optional(type->WithOrder(model::ByteOrder::kLittle)) : std::nullopt;
}

std::optional<model::Attribute> MakeTyped(const std::string& name, const Json& json,
                                          const Datatype& type) {
  model::Attribute attribute;
  attribute.name = name;
  attribute.type = type;
  if (!json.is_array()) {
    const auto value = ScalarOf(json, type);
    if (!value) return std::nullopt;
    attribute.value = *value;
    return attribute;
  }
  Value::List items;
  for (const Json& item : json) {
    auto value = ScalarOf(item, type);
    if (!value) return std::nullopt;
    items.push_back(*std::move(value));
  }
  if (items.empty()) return std::nullopt;
  attribute.shape = {items.size()};
  attribute.value = std::move(items);
  return attribute;
}

bool IsOwnKey(std::string_view name) {
  static constexpr std::array kKeys = {kArray, kGroup, kAttributes, kSuperblock};
  return std::any_of(kKeys.begin(), kKeys.end(),
                     [&](const Key& key) { return name == key.lower || name == key.upper; });
}

// Whether the attribute repeats the names that NCZarr's own object gives.
bool RepeatsDimensions(const Json& names, const ArrayKeys* keys) {
  if (!keys || !keys->dimensions || !names.is_array()) return false;
  const auto& dimensions = *keys->dimensions;
  return std::equal(names.begin(), names.end(), dimensions.begin(), dimensions.end(),
                    [](const Json& name, const DimensionRef& ref) { return name == ref.name; });
}

}  // namespace

std::string DimensionRef::path() const {
  if (shown_name().empty() || name.find('/') != std::string::npos) return {};
  return model::JoinPath(group, name);
}

std::string DimensionRef::shown_name() const {
  return name.starts_with(kAnonymousPrefix) ? std::string() : name;
}

std::optional<DimensionRef> ParseDimensionRef(std::string_view name) {
  if (!name.starts_with('/')) return std::nullopt;
  std::vector<std::string> parts(1);
  for (size_t i = 1; i < name.size(); ++i) {
    if (name[i] == '/') {
      parts.emplace_back();
      continue;
    }
    if (name[i] == '\\' && ++i == name.size()) return std::nullopt;
    parts.back() += name[i];
  }
  DimensionRef ref{"/", parts.back()};
  parts.pop_back();
  if (ref.name.empty()) return std::nullopt;
  for (const std::string& group : parts) {
    if (group.empty()) return std::nullopt;
    ref.group = model::JoinPath(ref.group, group);
  }
  return ref;
}

std::optional<ArrayKeys> FindArrayKeys(const Documents& documents) {
  const Json* object = Find(documents, kArray);
  if (!object) return std::nullopt;
  ArrayKeys keys;
  if (const Json* refs = FindEither(*object, "dimension_references", "dimrefs")) {
    keys.dimensions = ParseDimensionRefs(*refs);
  }
  const Json* shape = FindMember(documents.document, "shape");
  const bool has_one_element = shape && *shape == Json::array({1});
  const Json* storage = FindMember(*object, "storage");
  const bool said_scalar = (storage && *storage == "scalar") ||
                           IsTrue(FindMember(*object, "scalar")) ||
                           (keys.dimensions && keys.dimensions->empty());
  keys.is_scalar = has_one_element && said_scalar;
  if (keys.is_scalar) keys.dimensions = std::vector<DimensionRef>();
  const size_t rank = keys.is_scalar || !shape ? 0 : shape->size();
  if (keys.dimensions && keys.dimensions->size() != rank) keys.dimensions.reset();
  return keys;
}

Dimensions FindDimensions(const Documents& documents) {
  Dimensions dimensions;
  const Json* object = Find(documents, kGroup);
  const Json* list = object ? FindEither(*object, "dimensions", "dims") : nullptr;
  if (!list) return dimensions;
  if (list->is_object()) {
    for (const auto& [name, json] : list->items()) {
      if (const auto dimension = ParseDimension(json)) dimensions.emplace(name, *dimension);
    }
  } else if (list->is_array()) {
    for (const Json& json : *list) {
      const Json* name = FindMember(json, "name");
      const auto dimension = ParseDimension(json);
      if (name && name->is_string() && dimension) {
        dimensions.emplace(name->get<std::string>(), *dimension);
      }
    }
  }
  return dimensions;
}

std::vector<model::NamedDimension> DimensionsWithoutArrays(const Documents& documents) {
  const Json* object = Find(documents, kGroup);
  const Json* arrays = object ? FindEither(*object, "arrays", "vars") : nullptr;
  std::vector<model::NamedDimension> dimensions;
  for (const auto& [name, dimension] : FindDimensions(documents)) {
    const bool has_array =
        arrays && std::find(arrays->begin(), arrays->end(), name) != arrays->end();
    if (has_array) continue;
    dimensions.push_back(
        {name, dimension.is_unlimited ? std::nullopt : std::optional(dimension.size)});
  }
  return dimensions;
}

bool HasKeys(const Documents& documents) {
  for (const Key& key : {kSuperblock, kGroup, kArray, kAttributes}) {
    if (Find(documents, key)) return true;
  }
  return false;
}

Json NormalizeArray(const Json& zarray, const ArrayKeys& keys) {
  Json normalized = zarray;
  if (keys.is_scalar) {
    normalized["shape"] = Json::array();
    normalized["chunks"] = Json::array();
  }
  // The type of char until 4.9.0, whatever NumPy means by it.
  const Json* dtype = FindMember(normalized, "dtype");
  if (dtype && (*dtype == "<U1" || *dtype == ">U1")) normalized["dtype"] = "|S1";
  // Text as a fill value is not in base64.
  dtype = FindMember(normalized, "dtype");
  const Json* fill = FindMember(normalized, "fill_value");
  const bool is_bytes = dtype && dtype->is_string() &&
                        dtype->get_ref<const std::string&>().find('S') != std::string::npos;
  if (is_bytes && fill && fill->is_string()) {
    Json bytes = Json::array();
    for (const char c : fill->get_ref<const std::string&>()) {
      bytes.push_back(static_cast<unsigned char>(c));
    }
    normalized["fill_value"] = std::move(bytes);
  }
  return normalized;
}

std::vector<model::Attribute> MakeAttributes(const Documents& documents,
                                             const ArrayKeys* dimensions,
                                             std::optional<model::Error>& left_out) {
  model::AttributeRoom room;
  std::vector<model::Attribute> attributes;
  if (!documents.attributes.is_object()) return attributes;
  const Json* object = Find(documents, kAttributes);
  const Json* types = object ? FindMember(*object, "types") : nullptr;
  for (const auto& [name, value] : documents.attributes.items()) {
    if (IsOwnKey(name)) continue;
    if (name == kArrayDimensions && RepeatsDimensions(value, dimensions)) continue;
    if (auto fits = TakeRoom(room, name, value); !fits) {
      if (!left_out) left_out = std::move(fits).error();
      continue;
    }
    const Json* type_json = types ? FindMember(*types, name.c_str()) : nullptr;
    const auto type = type_json ? AttributeType(*type_json) : std::nullopt;
    auto attribute = type ? MakeTyped(name, value, *type) : std::nullopt;
    attributes.push_back(attribute ? *std::move(attribute)
                                   : backends::MakeAttribute(name, value));
  }
  return attributes;
}

}  // namespace ndlfs::backends::nczarr
