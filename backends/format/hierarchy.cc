// SPDX-License-Identifier: MIT
#include "backends/format/hierarchy.h"

#include <algorithm>

#include "backends/store/read_set.h"
#include "model/path_name.h"

namespace ndlfs::backends {
namespace {

uint64_t HeldBytes(const model::Value& value) {
  uint64_t bytes = sizeof(value);
  if (const auto* text = value.text()) {
    bytes += text->size();
  } else if (const auto* blob = value.blob()) {
    bytes += blob->size();
  } else if (const auto* list = value.list()) {
    for (const model::Value& item : *list) bytes += HeldBytes(item);
  } else if (const auto* map = value.map()) {
    for (const auto& [name, member] : *map) {
      bytes += sizeof(name) + name.size() + HeldBytes(member);
    }
  } else if (const auto* region = value.region()) {
    bytes += region->points.size() * 2 * sizeof(region->points);
  }
  return bytes;
}

// The dimension coordinate `name` of the group at `group_path` or the nearest
// one around it, other than the array at `own_path`; empty if there is none.
std::string FindDimCoord(
    std::string_view group_path, std::string_view own_path, std::string_view name,
    const std::function<std::shared_ptr<const Node>(std::string_view)>& load,
    std::optional<uint64_t>& size) {
  for (;;) {
    std::string path = model::JoinPath(group_path, name);
    const auto node = path == own_path ? nullptr : load(path);
    if (node) {
      if (const auto* found = std::get_if<model::DimCoord>(&node->entity)) {
        size = found->size();
        return path;
      }
    }
    if (group_path == "/" || group_path.empty()) return {};
    group_path = model::ParentPath(group_path);
  }
}

}  // namespace

const model::Ndarray& Node::array() const {
  if (const auto* dimcoord = std::get_if<model::DimCoord>(&entity)) return *dimcoord;
  return std::get<model::Ndarray>(entity);
}

const std::vector<model::Attribute>& Node::attributes() const {
  if (const auto* group = std::get_if<model::Group>(&entity)) return group->attributes;
  return array().attributes;
}

std::optional<model::Layout> Node::layout() const {
  return source ? model::LayoutOf(source->spec().dtype) : array().layout;
}

uint64_t Node::held_bytes() const {
  uint64_t bytes = sizeof(*this);
  for (const model::Attribute& attribute : attributes()) {
    bytes += sizeof(attribute) + attribute.name.size() + HeldBytes(attribute.value);
  }
  for (const std::string& note : notes) bytes += sizeof(note) + note.size();
  if (const auto* group = std::get_if<model::Group>(&entity)) {
    return bytes + group->dimensions.size() * sizeof(model::NamedDimension);
  }
  if (array().value) bytes += HeldBytes(*array().value);
  return bytes;
}

uint64_t Hierarchy::HashVersions(std::span<const std::optional<ValueInfo>> values) {
  VersionHash hash;
  for (const auto& value : values) hash.Add(VersionOf(value));
  return hash.value();
}

bool IsDimCoordName(std::string_view name, const std::vector<std::string>& names) {
  return !name.empty() && names.size() == 1 && names[0] == name;
}

void LinkDimensions(std::string_view group_path, model::Ndarray& array,
                    const std::function<std::shared_ptr<const Node>(std::string_view)>& load) {
  if (IsDimCoordName(array.name, array.dimension_names)) return;
  const std::string own_path = model::JoinPath(group_path, array.name);
  const size_t count = std::min(array.shape.size(), array.dimension_names.size());
  for (size_t i = 0; i < count; ++i) {
    const std::string& name = array.dimension_names[i];
    if (name.empty() || name.find('/') != std::string::npos) continue;
    std::optional<uint64_t> size;
    std::string path = FindDimCoord(group_path, own_path, name, load, size);
    if (!path.empty() && size == array.shape[i].size) {
      array.shape[i].dimcoord = std::move(path);
    }
  }
}

}  // namespace ndlfs::backends
