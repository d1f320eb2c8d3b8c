// SPDX-License-Identifier: MIT
#include "model/ndl/ndl_value_reader.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "model/error.h"
#include "model/ndl/ndl_rules.h"
#include "model/ndl/ndl_type_reader.h"
#include "model/ndl/yaml_text.h"

namespace ndlfs::model {
namespace {

using Place = NdlContext::Place;

// Explains why `node` is not an integer if it has leading zeros; else empty.
std::string_view LeadingZeroHint(const YamlNode& node) {
  std::string_view digits = node.is_plain() ? node.text() : "";
  if (digits.starts_with('-') || digits.starts_with('+')) digits.remove_prefix(1);
  const bool padded = digits.size() > 1 && digits[0] == '0' &&
                      digits.find_first_not_of("0123456789") == std::string_view::npos;
  return padded ? " (some readers take it as octal; write it without the leading zero)" : "";
}

// The YAML spelling of a nan or inf that was found instead of a number; else
// empty.
std::string_view SpecialNumberHint(const YamlNode& node) {
  std::string word(node.is_plain() ? node.text().substr(0, 10) : "");
  std::transform(word.begin(), word.end(), word.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (word == "nan") return " (YAML writes .nan)";
  if (word == "inf" || word == "infinity") return " (YAML writes .inf)";
  if (word == "-inf" || word == "-infinity") return " (YAML writes -.inf)";
  return "";
}

std::optional<Value> Expected(NdlContext& context, const YamlNode& node,
                              std::string_view what) {
  context.Error(node, "expected {}, found {}{}{}", what, DescribeNode(node),
                LeadingZeroHint(node), what == "a number" ? SpecialNumberHint(node) : "");
  return std::nullopt;
}

// Returns `value` if it fits `type`, whose elements have at most eight bytes.
std::optional<Value> Fitting(NdlContext& context, const YamlNode& node, const Datatype& type,
                             Value value) {
  std::array<std::byte, 8> bytes;
  const auto done = EncodeElement(type, value, std::span(bytes).first(type.size()));
  if (done) return value;
  context.Error(node, "{}", done.error().message());
  return std::nullopt;
}

std::optional<Value> ReadInteger(NdlContext& context, const YamlNode& node,
                                 const Datatype& type) {
  const auto number = node.is_plain() ? ParseYamlInteger(node.text()) : std::nullopt;
  if (!number) return Expected(context, node, "an integer");
  return Fitting(context, node, type, *number);
}

std::optional<Value> ReadBinary(NdlContext& context, const YamlNode& node,
                                const Datatype& type) {
  if (!node.is_binary()) return Expected(context, node, "!!binary");
  auto bytes = ParseYamlBinary(node.text());
  if (!bytes) {
    context.Error(node, "this is not base64 (letters, digits, + and /, = at the end)");
    return std::nullopt;
  }
  // Opaque of size 0 with a tag stands for a type that NDL cannot express.
  const bool any_size = type.size() == 0 && type.kind() == Datatype::Kind::kOpaque;
  if (bytes->size() > type.size() && !any_size) {
    context.Error(node, "{} bytes, expected {}", bytes->size(), type.size());
    return std::nullopt;
  }
  return Value(*std::move(bytes));
}

std::optional<Value> ReadFloat(NdlContext& context, const YamlNode& node,
                               const Datatype& type) {
  if (type.size() > 8) return ReadBinary(context, node, type);
  if (!node.is_plain()) return Expected(context, node, "a number");
  std::optional<double> number;
  if (type == Datatype::Float32()) {  // directly: by way of double it would be rounded twice
    number = ParseYamlFloat<float>(node.text());
  } else {
    number = ParseYamlFloat<double>(node.text());
  }
  if (!number) {
    if (!LooksLikeYamlNumber(node.text())) return Expected(context, node, "a number");
    context.Error(node, "{} does not fit {}", node.text(), type.keyword());
    return std::nullopt;
  }
  const auto rounded = RoundToFloat(type, *number);
  if (!rounded) {
    context.Error(node, "{}", rounded.error().message());
    return std::nullopt;
  }
  return Value(*rounded);
}

std::optional<Value> ReadString(NdlContext& context, const YamlNode& node) {
  if (node.is_plain() || node.is_quoted()) return Value(node.text());
  return Expected(context, node, "text");
}

void ReportNoConstant(NdlContext& context, const YamlNode& node, std::string_view name,
                      const Datatype& type) {
  constexpr size_t kMostNames = 10;
  std::vector<std::string_view> names;
  for (const Datatype::Constant& constant : type.constants()) {
    if (names.size() < kMostNames) names.push_back(constant.name);
  }
  context.Error(node, "{} is not a constant of the enum{}, expected {}{}", Quote(name),
                Suggestion(name, names), Alternatives(names),
                names.size() < type.constants().size() ? ", ..." : "");
}

// Reads the name of a constant, or a number with or without a constant.
std::optional<Value> ReadEnum(NdlContext& context, const YamlNode& node, const Datatype& type) {
  if (!node.is_plain() && !node.is_quoted()) {
    return Expected(context, node, "the name of an enum constant");
  }
  std::string_view name = node.text();
  if (type.is_bool() && node.is_plain()) {
    if (const auto truth = ParseYamlBool(name)) name = *truth ? "TRUE" : "FALSE";
  }
  if (type.FindConstant(name)) return Value(name);
  if (const auto number = ParseYamlInteger(name); number && node.is_plain()) {
    if (const auto* constant = type.FindConstant(*number)) return Value(constant->name);
    return Fitting(context, node, type.base(), *number);
  }
  ReportNoConstant(context, node, name, type);
  return std::nullopt;
}

std::optional<Value> ReadObjectRef(NdlContext& context, const YamlNode& node) {
  if (node.is_null()) return Value();
  if (node.is_scalar() && !node.is_binary() && node.text().starts_with('/')) {
    return Value(node.text());
  }
  return Expected(context, node, "a path name that begins with \"/\", or null");
}

// Reads the two corners of a region of kind kBlock.
std::optional<std::vector<std::vector<uint64_t>>> ReadBlock(NdlContext& context,
                                                            const NdlFields& fields) {
  const YamlNode* start_node = fields.Require("start");
  const YamlNode* opposite_node = fields.Require("opposite");
  if (!start_node || !opposite_node) return std::nullopt;
  auto start = ReadSizes(context, *start_node, 0);
  auto opposite = ReadSizes(context, *opposite_node, 0);
  if (!start || !opposite) return std::nullopt;
  if (start->size() != opposite->size()) {
    context.Error(*opposite_node, "{} indices, expected {} as in \"start\"", opposite->size(),
                  start->size());
    return std::nullopt;
  }
  return std::vector{*std::move(start), *std::move(opposite)};
}

std::optional<std::vector<std::vector<uint64_t>>> ReadElements(NdlContext& context,
                                                               const NdlFields& fields) {
  const YamlNode* list = fields.Require("elements");
  if (!list) return std::nullopt;
  if (!list->is_sequence()) {
    context.Error(*list, "expected a list of elements, each a list of its indices, found {}",
                  DescribeNode(*list));
    return std::nullopt;
  }
  std::vector<std::vector<uint64_t>> points;
  for (const YamlNode* item : list->items()) {
    auto point = ReadSizes(context, *item, 0);
    if (!point) return std::nullopt;
    if (!points.empty() && points.front().size() != point->size()) {
      context.Error(*item, "{} indices, expected {} as in the first element", point->size(),
                    points.front().size());
      return std::nullopt;
    }
    points.push_back(*std::move(point));
  }
  return points;
}

std::optional<Value> ReadRegion(NdlContext& context, const YamlNode& node,
                                const Datatype& type) {
  if (node.is_null()) return Value();
  const bool is_block = type.selection() == Datatype::Selection::kBlock;
  const NdlFields fields = is_block ? NdlFields(context, node, {"target", "start", "opposite"})
                                    : NdlFields(context, node, {"target", "elements"});
  const YamlNode* target = fields.Require("target");
  if (!target) return std::nullopt;
  auto points = is_block ? ReadBlock(context, fields) : ReadElements(context, fields);
  if (!target->is_scalar() || !target->text().starts_with('/')) {
    return Expected(context, *target, "a path name that begins with \"/\"");
  }
  if (!points) return std::nullopt;
  return Value(Region{std::string(target->text()), type.selection(), *std::move(points)});
}

// Finds the values of a mapping by name. They are usually in the order of the
// members; an index is made only if they are not.
class MemberValues {
 public:
  explicit MemberValues(const YamlNode& node) : node_(node) {}

  // The value of `name`, expected at position `index`; null if there is none.
  const YamlNode* Find(size_t index, std::string_view name) {
    if (index < node_.size() && NameAt(index) == name) return &node_.value(index);
    if (by_name_.empty()) {
      for (size_t i = 0; i < node_.size(); ++i) by_name_.emplace(NameAt(i), &node_.value(i));
    }
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
  }

 private:
  std::string_view NameAt(size_t i) const {
    return node_.key(i).is_scalar() ? node_.key(i).text() : std::string_view();
  }

  const YamlNode& node_;
  std::unordered_map<std::string_view, const YamlNode*> by_name_;
};

void ReportUnknownMembers(NdlContext& context, const YamlNode& node, const Datatype& type) {
  constexpr size_t kMostNames = 1000;  // considered for suggestions
  std::unordered_set<std::string_view> names;
  std::vector<std::string_view> candidates;
  for (const Datatype::Member& member : type.members()) {
    names.insert(member.name);
    if (candidates.size() < kMostNames) candidates.push_back(member.name);
  }
  for (size_t i = 0; i < node.size() && !context.gave_up(); ++i) {
    const std::string_view key = node.key(i).is_scalar() ? node.key(i).text() : "";
    if (names.contains(key)) continue;
    context.Error(node.key(i), "{} is not a member of the compound{}", Quote(key),
                  Suggestion(key, candidates));
  }
}

std::optional<Value> ReadCompound(NdlContext& context, const YamlNode& node,
                                  const Datatype& type) {
  if (!node.is_mapping()) return Expected(context, node, "a mapping of the members");
  if (!CheckMapping(context, node)) return std::nullopt;
  Value::Map map;
  map.reserve(type.members().size());
  MemberValues values(node);
  bool valid = true;
  for (size_t i = 0; i < type.members().size() && !context.gave_up(); ++i) {
    const Datatype::Member& member = type.members()[i];
    const YamlNode* item = values.Find(i, member.name);
    if (!item) {
      context.Error(node, "the member {} is missing", Quote(member.name));
      valid = false;
      continue;
    }
    const Place place(context, "member", member.name);
    auto value = ReadElement(context, *item, member.type);
    valid = valid && value;
    if (valid) map.emplace_back(member.name, *std::move(value));
  }
  if (node.size() != type.members().size() || !valid) {
    ReportUnknownMembers(context, node, type);
  }
  if (!valid || node.size() != type.members().size()) return std::nullopt;
  return Value(std::move(map));
}

std::optional<Value> ReadVlen(NdlContext& context, const YamlNode& node, const Datatype& type) {
  std::vector<std::optional<uint64_t>> extents(1);
  return ReadNested(context, node, extents, type.base());
}

std::optional<Value> ReadArray(NdlContext& context, const YamlNode& node,
                               const Datatype& type) {
  std::vector<std::optional<uint64_t>> extents(type.shape().begin(), type.shape().end());
  return ReadNested(context, node, extents, type.base());
}

// ReadNested from dimension `dim` on.
std::optional<Value> ReadDimension(NdlContext& context, const YamlNode& node,
                                   std::vector<std::optional<uint64_t>>& extents, size_t dim,
                                   const Datatype& type) {
  if (dim == extents.size()) return ReadElement(context, node, type);
  std::optional<uint64_t>& extent = extents[dim];
  const std::string wanted =
      extent ? fmt::format("a list of {} value{}", *extent, *extent == 1 ? "" : "s") : "a list";
  if (!node.is_sequence()) return Expected(context, node, wanted);
  const auto items = node.items();
  const bool has_none = std::find(extents.begin() + static_cast<ptrdiff_t>(dim), extents.end(),
                                  uint64_t{0}) != extents.end();
  if (items.empty() && has_none) return Value(Value::List());
  if (extent && items.size() != *extent) {
    context.Error(node, "expected {}{}, found {}", wanted,
                  extents.size() > 1
                      ? fmt::format(" along dimension {} of {}", dim + 1, extents.size())
                      : "",
                  items.size());
    return std::nullopt;
  }
  extent = items.size();
  Value::List list;
  list.reserve(items.size());
  bool valid = true;
  for (size_t i = 0; i < items.size() && !context.gave_up(); ++i) {
    const Place place(context, i);
    auto value = ReadDimension(context, *items[i], extents, dim + 1, type);
    valid = valid && value;
    if (valid) list.push_back(*std::move(value));
  }
  if (!valid || list.size() != items.size()) return std::nullopt;
  return Value(std::move(list));
}

}  // namespace

std::optional<Value> ReadElement(NdlContext& context, const YamlNode& node,
                                 const Datatype& type) {
  switch (type.kind()) {
    case Datatype::Kind::kString:
      return ReadString(context, node);
    case Datatype::Kind::kInteger:
      return ReadInteger(context, node, type);
    case Datatype::Kind::kFloat:
      return ReadFloat(context, node, type);
    case Datatype::Kind::kOpaque:
      return ReadBinary(context, node, type);
    case Datatype::Kind::kEnum:
      return ReadEnum(context, node, type);
    case Datatype::Kind::kObjectRef:
      return ReadObjectRef(context, node);
    case Datatype::Kind::kRegionRef:
      return ReadRegion(context, node, type);
    case Datatype::Kind::kCompound:
      return ReadCompound(context, node, type);
    case Datatype::Kind::kVlen:
      return ReadVlen(context, node, type);
    case Datatype::Kind::kArray:
      return ReadArray(context, node, type);
  }
  return std::nullopt;
}

std::optional<Value> ReadNested(NdlContext& context, const YamlNode& node,
                                std::vector<std::optional<uint64_t>>& extents,
                                const Datatype& type) {
  return ReadDimension(context, node, extents, 0, type);
}

std::optional<std::pair<Datatype, Value>> ReadShortForm(NdlContext& context,
                                                        const YamlNode& node) {
  if (node.is_quoted()) return std::pair(Datatype::String(), Value(node.text()));
  if (node.is_null()) {
    context.Error(node, "expected a number, bool or text, found null; an empty text is \"\"");
    return std::nullopt;
  }
  if (!node.is_plain()) {
    context.Error(node,
                  "expected a number, bool or text, found {}; anything else needs the keys "
                  "shape, type and value",
                  DescribeNode(node));
    return std::nullopt;
  }
  const std::string_view text = node.text();
  if (const auto truth = ParseYamlBool(text)) {
    return std::pair(Datatype::Bool(), Value(*truth ? "TRUE" : "FALSE"));
  }
  if (const std::string_view hint = LeadingZeroHint(node); !hint.empty()) {
    context.Error(node, "{} is ambiguous{}, or write it in quotes", text, hint);
    return std::nullopt;
  }
  if (const auto integer = ParseYamlInteger(text)) {
    if (const auto type = ShortIntegerType(*integer)) return std::pair(*type, Value(*integer));
    context.Error(node, "{} does not fit any integer datatype", text);
    return std::nullopt;
  }
  if (const auto number = ParseYamlFloat<double>(text)) {
    return std::pair(Datatype::Float64(), Value(*number));
  }
  if (LooksLikeYamlNumber(text)) {
    context.Error(node, "{} does not fit float64", text);
    return std::nullopt;
  }
  return std::pair(Datatype::String(), Value(text));
}

std::optional<Value> ReadUntyped(NdlContext& context, const YamlNode& node) {
  if (node.is_null()) return Value();
  if (node.is_sequence()) {
    Value::List list;
    for (const YamlNode* item : node.items()) {
      auto value = ReadUntyped(context, *item);
      if (!value) return std::nullopt;
      list.push_back(*std::move(value));
    }
    return Value(std::move(list));
  }
  if (node.is_mapping()) {
    Value::Map map;
    bool valid = true;
    ForEachName(context, node,
                [&](std::string_view name, const YamlNode&, const YamlNode& item) {
                  auto value = ReadUntyped(context, item);
                  valid = valid && value;
                  if (valid) map.emplace_back(name, *std::move(value));
                });
    if (!valid || map.size() != node.size()) return std::nullopt;
    return Value(std::move(map));
  }
  if (node.is_binary()) return ReadBinary(context, node, Datatype());
  auto scalar = ReadShortForm(context, node);
  if (!scalar) return std::nullopt;
  return std::move(scalar->second);
}

}  // namespace ndlfs::model
