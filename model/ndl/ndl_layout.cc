// SPDX-License-Identifier: MIT
#include "model/ndl/ndl_layout.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "model/error.h"
#include "model/ndl/ndl_type_reader.h"

namespace ndlfs::model {
namespace {

using Place = NdlContext::Place;
using Kind = Datatype::Kind;

struct CharsetName {
  Charset charset;
  std::string_view name;
};
constexpr std::array kCharsets = {
    CharsetName{Charset::kAscii, "ascii"}, CharsetName{Charset::kUtf8, "utf-8"},
    CharsetName{Charset::kUtf32, "utf-32"}, CharsetName{Charset::kLatin1, "iso-8859-1"}};

YamlItem SizeItem(uint64_t value) { return YamlItem::Verbatim(std::to_string(value)); }

// Adds the keys of a layout to `map`, which has the offset of a member already.
void AddTo(YamlItem& map, const Layout& layout) {
  map.Add("size", SizeItem(layout.size));
  if (layout.charset) {
    const auto* found = std::find_if(
        kCharsets.begin(), kCharsets.end(),
        [&](const CharsetName& known) { return known.charset == *layout.charset; });
    map.Add("charset", YamlItem::Verbatim(std::string(found->name)));
  }
  if (!layout.item.empty()) map.Add("item", LayoutItem(layout.item.front()));
  if (layout.members.empty()) return;
  YamlItem members = YamlItem::Mapping();
  for (const LayoutMember& member : layout.members) {
    YamlItem item = YamlItem::Mapping();
    item.Add("offset", SizeItem(member.offset));
    AddTo(item, member.layout);
    members.Add(member.name, std::move(item));
  }
  map.Add("members", std::move(members));
}

// A layout nests as deep as its datatype, which bounds the recursion.
class LayoutReader {
 public:
  explicit LayoutReader(NdlContext& context) : context_(context) {}

  std::optional<Layout> Read(const NdlFields& fields, const Datatype& type) {
    const YamlNode* size = fields.Require("size");
    if (!size) return std::nullopt;
    const auto bytes = ReadSize(context_, *size, 0);
    if (!bytes) return std::nullopt;
    Layout layout;
    layout.size = *bytes;
    const bool valid = ReadCharset(fields, type, layout) && ReadItem(fields, type, layout) &&
                       ReadMembers(fields, type, layout);
    return valid ? std::optional(std::move(layout)) : std::nullopt;
  }

 private:
  bool ReadCharset(const NdlFields& fields, const Datatype& type, Layout& layout) {
    const YamlNode* node = fields.Find("charset");
    if (!node) return true;
    if (!Fits(*node, type, Kind::kString, "charset")) return false;
    const auto word = ReadWord(context_, *node, {"ascii", "utf-8", "utf-32", "iso-8859-1"});
    if (!word) return false;
    layout.charset =
        std::find_if(kCharsets.begin(), kCharsets.end(), [&](const CharsetName& known) {
          return known.name == *word;
        })->charset;
    return true;
  }

  bool ReadItem(const NdlFields& fields, const Datatype& type, Layout& layout) {
    const YamlNode* node = fields.Find("item");
    if (!node) return true;
    if (!Fits(*node, type, Kind::kArray, "item")) return false;
    const Place place(context_, "item");
    auto item =
        Read(NdlFields(context_, *node, {"size", "charset", "item", "members"}), type.base());
    if (item) layout.item.push_back(*std::move(item));
    return item.has_value();
  }

  bool ReadMembers(const NdlFields& fields, const Datatype& type, Layout& layout) {
    const YamlNode* node = fields.Find("members");
    if (!node) return true;
    if (!Fits(*node, type, Kind::kCompound, "members")) return false;
    if (!CheckMapping(context_, *node)) return false;
    if (node->size() != type.members().size()) {
      context_.Error(*node, "{} members, expected {} as in the type", node->size(),
                     type.members().size());
      return false;
    }
    bool valid = true;
    for (size_t i = 0; i < node->size() && !context_.gave_up(); ++i) {
      valid = ReadMember(node->key(i), node->value(i), type.members()[i], layout) && valid;
    }
    return valid;
  }

  // Members have to be in the order of the type.
  bool ReadMember(const YamlNode& key, const YamlNode& node, const Datatype::Member& member,
                  Layout& layout) {
    if (!key.is_scalar() || key.text() != member.name) {
      context_.Error(key, "expected the member {} of the type, found {}", Quote(member.name),
                     DescribeNode(key));
      return false;
    }
    const Place place(context_, "member", member.name);
    const NdlFields fields(context_, node, {"offset", "size", "charset", "item", "members"});
    const YamlNode* offset_node = fields.Require("offset");
    auto inner = Read(fields, member.type);
    const auto offset = offset_node ? ReadSize(context_, *offset_node, 0) : std::nullopt;
    if (!inner || !offset) return false;
    if (*offset > layout.size || inner->size > layout.size - *offset) {
      context_.Error(node, "the member ends after the {} bytes of the element", layout.size);
      return false;
    }
    layout.members.push_back({member.name, *offset, *std::move(inner)});
    return true;
  }

  bool Fits(const YamlNode& node, const Datatype& type, Kind kind, std::string_view key) {
    if (type.kind() == kind) return true;
    context_.Error(node, "the key \"{}\" for the datatype {}", key, type.keyword());
    return false;
  }

  NdlContext& context_;
};

}  // namespace

YamlItem LayoutItem(const Layout& layout) {
  YamlItem map = YamlItem::Mapping();
  AddTo(map, layout);
  return map;
}

std::optional<Layout> ReadLayout(NdlContext& context, const YamlNode& node,
                                 const Datatype& type) {
  const Place place(context, "x-layout");
  return LayoutReader(context).Read(
      NdlFields(context, node, {"size", "charset", "item", "members"}), type);
}

}  // namespace ndlfs::model
