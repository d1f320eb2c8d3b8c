// SPDX-License-Identifier: MIT
#include "fs/compare/object_digest.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backends/base/json.h"
#include "fs/compare/canonical_value.h"

namespace ndlfs::fs {
namespace {

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

}  // namespace ndlfs::fs
