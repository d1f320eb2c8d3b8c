// SPDX-License-Identifier: MIT
#include "fs/compare/object_digest.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "backends/base/json.h"
#include "model/ndl/ndl_writer.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using backends::Json;
using model::Datatype;
using model::Value;

std::string JsonText(const std::string& text) { return backends::CompactJson(text); }

std::string MemberLine(const DigestedMember& member) {
  const std::string name = JsonText(member.name);
  switch (member.kind) {
    case DigestedMember::Kind::kArray:
      return fmt::format("array {} {} {}\n", name, HexOf(member.digest),
                         HexOf(member.attributes));
    case DigestedMember::Kind::kGroup:
      return fmt::format("group {} {}\n", name, HexOf(member.digest));
    case DigestedMember::Kind::kLink:
      break;
  }
  return fmt::format("link {} {}\n", name, JsonText(member.target));
}

Json Tagged(const char* tag, Json value) {
  Json tagged = Json::object();
  tagged[tag] = std::move(value);
  return tagged;
}

// JSON does not say how its numbers are rounded. So a float is its bits as a double.
Json FloatAsJson(double number) {
  if (std::isnan(number)) number = std::numeric_limits<double>::quiet_NaN();
  return Tagged("float", fmt::format("{:016x}", std::bit_cast<uint64_t>(number)));
}

Json IntegerAsJson(model::WideInt number) {
  return number < 0 ? Json(static_cast<int64_t>(number)) : Json(static_cast<uint64_t>(number));
}

Json TextAsJson(const Datatype& type, const std::string& text) {
  if (type.kind() != Datatype::Kind::kEnum) return text;
  if (type.is_bool() && (text == "TRUE" || text == "FALSE")) return text == "TRUE";
  return Tagged("enum", text);
}

Json BlobAsJson(const model::Blob& blob) {
  std::string hex;
  for (const std::byte byte : blob) hex += fmt::format("{:02x}", std::to_integer<int>(byte));
  return Tagged("bytes", std::move(hex));
}

Json ValueAsJson(const Datatype& type, const Value& value);

Json ListAsJson(const Datatype& type, const Value::List& list) {
  const bool is_item =
      type.kind() == Datatype::Kind::kVlen || type.kind() == Datatype::Kind::kArray;
  // The list may be one of the attribute itself, or one element of it.
  if (list.size() == 1) return ValueAsJson(is_item ? type.base() : type, list.front());
  Json items = Json::array();
  for (const Value& item : list) {
    items.push_back(ValueAsJson(is_item && !item.list() ? type.base() : type, item));
  }
  return items;
}

Json MapAsJson(const Datatype& type, const Value::Map& map) {
  Json members = Json::array();
  const bool is_struct = type.kind() == Datatype::Kind::kCompound;
  for (size_t i = 0; i < map.size(); ++i) {
    const Datatype member =
        is_struct && i < type.members().size() ? type.members()[i].type : Datatype();
    members.push_back(Json::array({map[i].first, ValueAsJson(member, map[i].second)}));
  }
  return Tagged("struct", std::move(members));
}

Json ValueAsJson(const Datatype& type, const Value& value) {
  if (const auto* list = value.list()) return ListAsJson(type, *list);
  if (const auto* map = value.map()) return MapAsJson(type, *map);
  if (const auto* text = value.text()) return TextAsJson(type, *text);
  if (const auto* real = value.real()) return FloatAsJson(*real);
  if (const auto* blob = value.blob()) return BlobAsJson(*blob);
  if (value.region() != nullptr) return Tagged("region", model::WriteFlow(value, type));
  if (const auto* integer = value.integer()) {
    if (type.kind() == Datatype::Kind::kFloat)
      return FloatAsJson(static_cast<double>(*integer));
    return IntegerAsJson(*integer);
  }
  return nullptr;
}

}  // namespace

Sha256Digest DigestOfAttributes(const backends::Node& node) {
  std::string text = "ndlfs-attributes-1\n";
  if (!node.is_group()) {
    for (const std::string& name : DimensionNames(node.array())) {
      text += fmt::format("dimension {}\n", JsonText(name));
    }
  }
  std::vector<const model::Attribute*> attributes;
  for (const auto& attribute : node.attributes()) attributes.push_back(&attribute);
  std::ranges::sort(attributes, {}, [](const auto* attribute) { return attribute->name; });
  for (const auto* attribute : attributes) {
    text +=
        fmt::format("attribute {} {}\n", JsonText(attribute->name), CanonicalValue(*attribute));
  }
  return Sha256Of(backends::AsBytes(text));
}

Sha256Digest DigestOfGroup(const Sha256Digest& attributes,
                           std::vector<DigestedMember> members) {
  std::ranges::sort(members, {}, &DigestedMember::name);
  std::string text = fmt::format("ndlfs-group-1\nattributes {}\n", HexOf(attributes));
  for (const DigestedMember& member : members) text += MemberLine(member);
  return Sha256Of(backends::AsBytes(text));
}

std::string CanonicalValue(const model::Attribute& attribute) {
  return backends::CompactJson(ValueAsJson(attribute.type, attribute.value));
}

std::vector<std::string> DimensionNames(const model::Ndarray& array) {
  std::vector<std::string> names = array.dimension_names;
  if (names.empty()) {
    for (const model::Dimension& dimension : array.shape) {
      names.emplace_back(model::BaseName(dimension.dimcoord));
    }
  }
  const bool has_name =
      std::ranges::any_of(names, [](const auto& name) { return !name.empty(); });
  return has_name ? names : std::vector<std::string>();
}

}  // namespace ndlfs::fs
