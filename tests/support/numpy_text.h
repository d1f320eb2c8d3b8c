// SPDX-License-Identifier: MIT
//
// One spelling of types that both a Datatype and a numpy.dtype can be given,
// so that NumPy can say what is right.
#pragma once

#include <string>
#include <string_view>

#include "model/datatype.h"

namespace ndlfs::test {

// Defines canon(dtype) in Python.
inline constexpr std::string_view kCanonPython = R"(
import numpy as np
def canon(d):
    if d.subdtype:
        base, shape = d.subdtype
        return canon(base) + '(' + ','.join(map(str, shape)) + ')'
    if d.names is None:
        return d.str
    fields = [(n, d.fields[n]) for n in d.names]
    return '{' + ','.join(n + ':' + canon(f[0]) + '@' + str(f[1]) for n, f in fields) + '}' + str(d.itemsize)
)";

std::string Canon(const model::Datatype& type);

namespace internal {

inline std::string CanonNumber(const model::Datatype& type, std::string_view kind) {
  const char order = type.size() == 1                         ? '|'
                     : type.order() == model::ByteOrder::kBig ? '>'
                                                              : '<';
  return order + std::string(kind) + std::to_string(type.size());
}

inline std::string CanonTime(const model::Datatype& type) {
  const model::TimeUnit& unit = *type.time();
  std::string text = CanonNumber(type, unit.is_delta ? "m" : "M");
  if (unit.unit == "generic") return text;
  return text + "[" + (unit.scale == 1 ? "" : std::to_string(unit.scale)) + unit.unit + "]";
}

inline std::string CanonCompound(const model::Datatype& type) {
  const auto& members = type.members();
  if (members.size() == 2 && members[0].name == "r" && members[1].name == "i" &&
      members[0].type.kind() == model::Datatype::Kind::kFloat) {
    std::string text = Canon(members[0].type);
    return text.substr(0, 1) + "c" + std::to_string(type.size());
  }
  std::string text = "{";
  for (const auto& member : members) {
    if (text.size() > 1) text += ",";
    text += member.name + ":" + Canon(member.type) + "@" + std::to_string(member.offset);
  }
  return text + "}" + std::to_string(type.size());
}

}  // namespace internal

inline std::string Canon(const model::Datatype& type) {
  using Kind = model::Datatype::Kind;
  switch (type.kind()) {
    case Kind::kInteger:
      if (type.time()) return internal::CanonTime(type);
      return internal::CanonNumber(type, type.is_signed() ? "i" : "u");
    case Kind::kFloat:
      return internal::CanonNumber(type, "f");
    case Kind::kEnum:
      return type.is_bool() ? "|b1" : "enum";
    case Kind::kOpaque:
      return "|V" + std::to_string(type.size());
    case Kind::kString:
      if (type.charset() != model::Charset::kUtf32) return "|S" + std::to_string(type.size());
      return (type.order() == model::ByteOrder::kBig ? ">U" : "<U") +
             std::to_string(type.size() / 4);
    case Kind::kCompound:
      return internal::CanonCompound(type);
    case Kind::kArray: {
      std::string text = Canon(type.base()) + "(";
      for (size_t i = 0; i < type.shape().size(); ++i) {
        text += (i ? "," : "") + std::to_string(type.shape()[i]);
      }
      return text + ")";
    }
    default:
      return "?";
  }
}

}  // namespace ndlfs::test
