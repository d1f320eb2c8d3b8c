// SPDX-License-Identifier: MIT
#include "model/ndl/ndl_type_reader.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include "model/error.h"
#include "model/ndl/ndl_rules.h"
#include "model/ndl/ndl_vocabulary.h"
#include "model/ndl/yaml_text.h"

namespace ndlfs::model {
namespace {

using Place = NdlContext::Place;

// The most bytes in one element; small enough that sums of sizes cannot overflow.
constexpr uint64_t kMaxElementSize = uint64_t{1} << 48;

constexpr std::array<std::string_view, 12> kKeywords = {
    "string", "int8",   "int16",  "int32",   "int64",   "uint8",
    "uint16", "uint32", "uint64", "float32", "float64", "objref"};
constexpr std::array<std::string_view, 6> kNestedKinds = {"opaque",   "enum", "regref",
                                                          "compound", "vlen", "array"};

// Reads types. `depth` is the number of types around the current one. Every
// Read... reports errors, and returns nullopt then.
class TypeReader {
 public:
  explicit TypeReader(NdlContext& context) : context_(context) {}

  std::optional<Datatype> Read(const YamlNode& node, int depth);
  // Reads a type, with the x-datetime or x-timedelta of the same mapping (null
  // if absent).
  std::optional<Datatype> ReadWithTime(const YamlNode& type, const YamlNode* datetime,
                                       const YamlNode* timedelta, int depth);

 private:
  std::optional<Datatype> ReadKeyword(const YamlNode& node);
  std::optional<Datatype> ReadOpaque(const YamlNode& node);
  std::optional<Datatype> ReadEnum(const YamlNode& node);
  std::optional<Datatype> ReadEnumBase(const YamlNode* node,
                                       const std::vector<Datatype::Constant>& constants,
                                       const YamlNode& members);
  std::optional<std::vector<Datatype::Constant>> ReadConstants(const YamlNode& node);
  std::optional<Datatype> ReadRegionRef(const YamlNode& node);
  std::optional<Datatype> ReadCompound(const YamlNode& node, int depth);
  std::optional<Datatype::Member> ReadMember(const YamlNode& node, int depth);
  std::optional<Datatype> ReadVlen(const YamlNode& node, int depth);
  std::optional<Datatype> ReadArray(const YamlNode& node, int depth);
  std::optional<Datatype> ReadBase(const NdlFields& fields, int depth);

  NdlContext& context_;
};

std::optional<Datatype> TypeReader::Read(const YamlNode& node, int depth) {
  if (depth > Datatype::kMaxDepth) {
    context_.Error(node, "datatypes nested more than {} deep", Datatype::kMaxDepth);
    return std::nullopt;
  }
  if (node.is_scalar()) return ReadKeyword(node);
  if (!node.is_mapping()) {
    context_.Error(node, "expected a datatype, found {}", DescribeNode(node));
    return std::nullopt;
  }
  if (node.size() != 1 || !node.key(0).is_scalar()) {
    context_.Error(node, "expected a mapping of one key, the kind of the datatype ({})",
                   Alternatives(kNestedKinds));
    return std::nullopt;
  }
  const std::string_view kind = node.key(0).text();
  const YamlNode& description = node.value(0);
  const Place place(context_, kind);
  if (kind == "opaque") return ReadOpaque(description);
  if (kind == "enum") return ReadEnum(description);
  if (kind == "regref") return ReadRegionRef(description);
  if (kind == "compound") return ReadCompound(description, depth);
  if (kind == "vlen") return ReadVlen(description, depth);
  if (kind == "array") return ReadArray(description, depth);
  context_.Error(node.key(0), "unknown kind of datatype{}, expected {}",
                 Suggestion(kind, kNestedKinds), Alternatives(kNestedKinds));
  return std::nullopt;
}

std::optional<Datatype> TypeReader::ReadKeyword(const YamlNode& node) {
  const std::string_view keyword = node.text();
  if (keyword == "string") return Datatype::String();
  if (keyword == "objref") return Datatype::ObjectRef();
  if (auto number = Datatype::FromKeyword(keyword)) return number;
  const std::string_view ours = NdlDatatypeFor(keyword);
  if (!ours.empty()) {
    context_.Error(node, "NDL has no datatype {}, expected {}", Quote(keyword), ours);
  } else if (std::find(kNestedKinds.begin(), kNestedKinds.end(), keyword) !=
             kNestedKinds.end()) {
    context_.Error(node, "the datatype {} needs a description, expected {{{}: ...}}", keyword,
                   keyword);
  } else {
    context_.Error(node, "unknown datatype {}{}, expected {}, or {}", Quote(keyword),
                   Suggestion(keyword, kKeywords), Alternatives(kKeywords),
                   Alternatives(kNestedKinds));
  }
  return std::nullopt;
}

std::optional<Datatype> TypeReader::ReadOpaque(const YamlNode& node) {
  const NdlFields fields(context_, node, {"size", "tag"});
  const YamlNode* size_node = fields.Require("size");
  const YamlNode* tag_node = fields.Find("tag");
  std::optional<std::string> tag = tag_node ? ReadText(context_, *tag_node) : std::string();
  if (!size_node) return std::nullopt;
  const auto size = ReadSize(context_, *size_node, 0);
  if (!size || !tag) return std::nullopt;
  if (*size > kMaxElementSize) {
    context_.Error(*size_node, "an element of more than {} bytes", kMaxElementSize);
    return std::nullopt;
  }
  return Datatype::Opaque(*size, *std::move(tag));
}

std::optional<std::vector<Datatype::Constant>> TypeReader::ReadConstants(const YamlNode& node) {
  bool valid = node.is_mapping();
  std::vector<Datatype::Constant> constants;
  ForEachName(
      context_, node, [&](std::string_view name, const YamlNode&, const YamlNode& value) {
        const Place place(context_, "member", name);
        const auto number = value.is_plain() ? ParseYamlInteger(value.text()) : std::nullopt;
        if (!number) {
          context_.Error(value, "expected an integer, found {}", DescribeNode(value));
          valid = false;
          return;
        }
        constants.push_back({std::string(name), *number});
      });
  if (!valid || constants.size() != node.size()) return std::nullopt;
  return constants;
}

std::optional<Datatype> TypeReader::ReadEnumBase(
    const YamlNode* node, const std::vector<Datatype::Constant>& constants,
    const YamlNode& members) {
  if (!node) {
    auto base = SmallestEnumBase(constants);
    if (!base) context_.Error(members, "no integer datatype holds all of the constants");
    return base;
  }
  const auto base = node->is_scalar() ? Datatype::FromKeyword(node->text()) : std::nullopt;
  if (!base || base->kind() != Datatype::Kind::kInteger) {
    context_.Error(*node, "expected an integer datatype as base, found {}",
                   DescribeNode(*node));
    return std::nullopt;
  }
  bool valid = true;
  for (size_t i = 0; i < constants.size(); ++i) {
    std::vector<std::byte> bytes(base->size());
    const auto fits = EncodeElement(*base, Value(constants[i].value), bytes);
    if (fits) continue;
    const Place place(context_, "member", constants[i].name);
    context_.Error(members.value(i), "{}", fits.error().message());
    valid = false;
  }
  return valid ? base : std::nullopt;
}

std::optional<Datatype> TypeReader::ReadEnum(const YamlNode& node) {
  const NdlFields fields(context_, node, {"base", "members"});
  const YamlNode* members = fields.Find("members");
  if (!members) {
    if (fields.valid()) {
      context_.Error(node,
                     "the key \"members\" is missing, expected members: {{NAME: N, ...}}");
    }
    return std::nullopt;
  }
  auto constants = ReadConstants(*members);
  if (!constants) return std::nullopt;
  const auto base = ReadEnumBase(fields.Find("base"), *constants, *members);
  if (!base) return std::nullopt;
  return Datatype::Enum(*base, *std::move(constants));
}

std::optional<Datatype> TypeReader::ReadRegionRef(const YamlNode& node) {
  const NdlFields fields(context_, node, {"selection"});
  const YamlNode* selection = fields.Require("selection");
  if (!selection) return std::nullopt;
  const Place place(context_, "selection");
  const auto word = ReadWord(context_, *selection, {"block", "element"});
  if (!word) return std::nullopt;
  return Datatype::RegionRef(*word == "block" ? Datatype::Selection::kBlock
                                              : Datatype::Selection::kElement);
}

// Reads `x: float32`, with x-datetime or x-timedelta in the same mapping if
// present.
std::optional<Datatype::Member> TypeReader::ReadMember(const YamlNode& node, int depth) {
  if (!CheckMapping(context_, node)) return std::nullopt;
  if (node.size() == 0 || !node.key(0).is_scalar()) {
    context_.Error(node, "expected a member, written as \"name: datatype\"");
    return std::nullopt;
  }
  const YamlNode* datetime = nullptr;
  const YamlNode* timedelta = nullptr;
  for (size_t i = 1; i < node.size(); ++i) {
    const std::string_view key = node.key(i).is_scalar() ? node.key(i).text() : "";
    if (key == "x-datetime") datetime = &node.value(i);
    if (key == "x-timedelta") timedelta = &node.value(i);
    if (!key.starts_with("x-")) {
      context_.Error(node.key(i), "expected each member as a list item of its own");
      return std::nullopt;
    }
  }
  const std::string_view name = node.key(0).text();
  const Place place(context_, "member", name);
  auto type = ReadWithTime(node.value(0), datetime, timedelta, depth + 1);
  if (!type) return std::nullopt;
  return Datatype::Member{std::string(name), *std::move(type)};
}

std::optional<Datatype> TypeReader::ReadCompound(const YamlNode& node, int depth) {
  if (!node.is_sequence()) {
    context_.Error(node,
                   "expected a list of members, each written as \"- name: datatype\", "
                   "found {}",
                   DescribeNode(node));
    return std::nullopt;
  }
  std::vector<Datatype::Member> members;
  std::set<std::string> names;
  uint64_t size = 0;
  bool valid = true;
  for (const YamlNode* item : node.items()) {
    if (context_.gave_up()) return std::nullopt;
    auto member = ReadMember(*item, depth);
    if (!member) {
      valid = false;
      continue;
    }
    if (!names.insert(member->name).second) {
      context_.Error(*item, "the member {} occurs twice", Quote(member->name));
      valid = false;
    }
    size += member->type.size();
    if (size > kMaxElementSize) {
      context_.Error(*item, "an element of more than {} bytes", kMaxElementSize);
      return std::nullopt;
    }
    members.push_back(*std::move(member));
  }
  if (!valid) return std::nullopt;
  return Datatype::PackedCompound(std::move(members));
}

std::optional<Datatype> TypeReader::ReadBase(const NdlFields& fields, int depth) {
  const YamlNode* base = fields.Require("base");
  if (!base) return std::nullopt;
  return ReadWithTime(*base, fields.Find("x-datetime"), fields.Find("x-timedelta"), depth + 1);
}

std::optional<Datatype> TypeReader::ReadVlen(const YamlNode& node, int depth) {
  const NdlFields fields(context_, node, {"base"});
  const auto base = ReadBase(fields, depth);
  if (!base) return std::nullopt;
  return Datatype::Vlen(*base);
}

std::optional<Datatype> TypeReader::ReadArray(const YamlNode& node, int depth) {
  const NdlFields fields(context_, node, {"base", "shape"});
  const auto base = ReadBase(fields, depth);
  const YamlNode* shape_node = fields.Require("shape");
  if (!shape_node) return std::nullopt;
  const Place place(context_, "shape");
  auto shape = ReadSizes(context_, *shape_node, 0);
  if (!shape || !base) return std::nullopt;
  uint64_t length = std::max<uint64_t>(base->size(), 1);
  for (const uint64_t extent : *shape) {
    if (__builtin_mul_overflow(length, std::max<uint64_t>(extent, 1), &length) ||
        length > kMaxElementSize) {
      context_.Error(*shape_node, "an element of more than {} bytes", kMaxElementSize);
      return std::nullopt;
    }
  }
  return Datatype::Array(*base, *std::move(shape));
}

std::optional<TimeUnit> ReadTimeUnit(NdlContext& context, const YamlNode& node, bool is_delta) {
  const Place place(context, is_delta ? "x-timedelta" : "x-datetime");
  const NdlFields fields(context, node, {"unit", "scale"});
  const YamlNode* unit_node = fields.Require("unit");
  const YamlNode* scale_node = fields.Find("scale");
  const auto scale = scale_node ? ReadSize(context, *scale_node, 1) : uint64_t{1};
  if (!unit_node) return std::nullopt;
  const auto unit = ReadWord(
      context, *unit_node,
      {"Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "generic"});
  if (!unit || !scale) return std::nullopt;
  return TimeUnit{std::string(*unit), static_cast<int64_t>(*scale), is_delta};
}

std::optional<Datatype> TypeReader::ReadWithTime(const YamlNode& type_node,
                                                 const YamlNode* datetime,
                                                 const YamlNode* timedelta, int depth) {
  const auto type = Read(type_node, depth);
  const YamlNode* extension = datetime ? datetime : timedelta;
  if (!extension || !type) return type;
  if (datetime && timedelta) {
    context_.Error(*timedelta, "x-datetime and x-timedelta exclude each other");
    return std::nullopt;
  }
  if (*type != Datatype::Integer(8, true)) {
    context_.Error(type_node,
                   "expected int64, the type that stores a datetime or timedelta, found {}",
                   type->keyword());
    return std::nullopt;
  }
  auto unit = ReadTimeUnit(context_, *extension, timedelta != nullptr);
  if (!unit) return std::nullopt;
  return Datatype::Time(*std::move(unit));
}

}  // namespace

std::optional<Datatype> ReadTypeField(NdlContext& context, const NdlFields& fields) {
  const YamlNode* type = fields.Require("type");
  if (!type) return std::nullopt;
  const Place place(context, "type");
  return TypeReader(context).ReadWithTime(*type, fields.Find("x-datetime"),
                                          fields.Find("x-timedelta"), 1);
}

std::optional<uint64_t> ReadSize(NdlContext& context, const YamlNode& node, uint64_t least) {
  const auto number = node.is_plain() ? ParseYamlInteger(node.text()) : std::nullopt;
  if (!number) {
    context.Error(node, "expected an integer, found {}", DescribeNode(node));
  } else if (*number < static_cast<WideInt>(least)) {
    context.Error(node, "expected an integer of at least {}, found {}", least, node.text());
  } else if (*number > INT64_MAX) {
    context.Error(node, "{} is too large, expected less than 2^63", node.text());
  } else {
    return static_cast<uint64_t>(*number);
  }
  return std::nullopt;
}

std::optional<std::vector<uint64_t>> ReadSizes(NdlContext& context, const YamlNode& node,
                                               uint64_t least) {
  if (!node.is_sequence()) {
    context.Error(node, "expected a list of integers, found {}", DescribeNode(node));
    return std::nullopt;
  }
  std::vector<uint64_t> sizes;
  for (const YamlNode* item : node.items()) {
    if (context.gave_up()) return std::nullopt;
    if (const auto size = ReadSize(context, *item, least)) sizes.push_back(*size);
  }
  if (sizes.size() != node.items().size()) return std::nullopt;
  return sizes;
}

std::optional<std::string> ReadText(NdlContext& context, const YamlNode& node) {
  if (node.is_plain() || node.is_quoted()) return std::string(node.text());
  context.Error(node, "expected text, found {}", DescribeNode(node));
  return std::nullopt;
}

std::optional<std::string_view> ReadWord(NdlContext& context, const YamlNode& node,
                                         std::initializer_list<std::string_view> words) {
  if (node.is_scalar()) {
    const auto found = std::find(words.begin(), words.end(), node.text());
    if (found != words.end()) return *found;
  }
  context.Error(node, "expected {}, found {}", Alternatives(words), DescribeNode(node));
  return std::nullopt;
}

}  // namespace ndlfs::model
