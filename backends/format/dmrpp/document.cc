// SPDX-License-Identifier: MIT
#include "backends/format/dmrpp/document.h"

#include <algorithm>
#include <array>

#include "model/path_name.h"

namespace ndlfs::backends::dmrpp {

const Object* Document::Find(std::string_view path) const {
  const Object* object = &root;
  if (!path.starts_with('/')) return nullptr;
  if (path == "/") return object;
  for (path.remove_prefix(1);;) {
    const size_t slash = path.find('/');
    const auto child = object->children.find(path.substr(0, slash));
    if (child == object->children.end()) return nullptr;
    object = &child->second;
    if (slash == path.npos) return object;
    path.remove_prefix(slash + 1);
  }
}

std::optional<uint64_t> Document::SizeOf(std::string_view path) const {
  const Object* group = path.starts_with('/') ? Find(model::ParentPath(path)) : nullptr;
  if (group == nullptr) return std::nullopt;
  const auto found =
      std::ranges::find(group->dimensions, model::BaseName(path), &model::NamedDimension::name);
  if (found == group->dimensions.end()) return std::nullopt;
  return found->size;
}

const Enumeration* Document::FindEnumeration(std::string_view path) const {
  const Object* group = path.starts_with('/') ? Find(model::ParentPath(path)) : nullptr;
  if (group == nullptr) return nullptr;
  const auto found = group->enumerations.find(model::BaseName(path));
  return found == group->enumerations.end() ? nullptr : &found->second;
}

bool Document::IsCoordinate(std::string_view path) const {
  const Object* object = Find(path);
  if (object == nullptr || !object->variable) return false;
  const auto& dimensions = object->variable->dimensions;
  return dimensions.size() == 1 && dimensions.front().path == path && SizeOf(path).has_value();
}

std::optional<model::Datatype> NumberType(std::string_view name) {
  struct TypeName {
    std::string_view dap;
    std::string_view ndl;
  };
  static constexpr std::array<TypeName, 11> kTypes = {{{"Byte", "uint8"},
                                                       {"Int8", "int8"},
                                                       {"UInt8", "uint8"},
                                                       {"Int16", "int16"},
                                                       {"UInt16", "uint16"},
                                                       {"Int32", "int32"},
                                                       {"UInt32", "uint32"},
                                                       {"Int64", "int64"},
                                                       {"UInt64", "uint64"},
                                                       {"Float32", "float32"},
                                                       {"Float64", "float64"}}};
  const auto found = std::ranges::find(kTypes, name, &TypeName::dap);
  if (found == kTypes.end()) return std::nullopt;
  return model::Datatype::FromKeyword(found->ndl);
}

bool IsTextType(std::string_view name) { return name == "String" || name == "URL"; }

}  // namespace ndlfs::backends::dmrpp
