// SPDX-License-Identifier: MIT
#include "model/layout.h"

#include <utility>

namespace ndlfs::model {
namespace {

using Kind = Datatype::Kind;

bool SaysMore(const Datatype& type) {
  if (type.kind() == Kind::kArray) return SaysMore(type.base());
  return type.kind() == Kind::kString ||
         (type.kind() == Kind::kCompound && !type.is_complex() && !type.members().empty());
}

Layout Describe(const Datatype& type) {
  Layout layout;
  layout.size = type.size();
  if (!SaysMore(type)) return layout;
  if (type.kind() == Kind::kString) {
    layout.charset = type.charset();
  } else if (type.kind() == Kind::kArray) {
    layout.item.push_back(Describe(type.base()));
  } else {
    for (const Datatype::Member& member : type.members()) {
      layout.members.push_back({member.name, member.offset, Describe(member.type)});
    }
  }
  return layout;
}

}  // namespace

bool operator==(const Layout& a, const Layout& b) {
  return a.size == b.size && a.charset == b.charset && a.members == b.members &&
         a.item == b.item;
}

bool operator==(const LayoutMember& a, const LayoutMember& b) {
  return a.name == b.name && a.offset == b.offset && a.layout == b.layout;
}

std::optional<Layout> LayoutOf(const Datatype& type) {
  if (!type.is_fixed_size() || !SaysMore(type)) return std::nullopt;
  return Describe(type);
}

}  // namespace ndlfs::model
