// SPDX-License-Identifier: MIT
#include "backends/format/hierarchy.h"

#include <algorithm>

#include "backends/store/read_set.h"
#include "model/path_name.h"

namespace ndlfs::backends {
namespace {

// Deeper groups are left out, so that nothing recurses without bound.
constexpr int kMaxGroupDepth = 512;

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

class GroupReader {
 public:
  GroupReader(const Hierarchy& hierarchy, std::vector<std::string>* errors)
      : hierarchy_(hierarchy), errors_(errors) {}

  model::Result<model::Group> Read(std::string_view path) {
    NDLFS_TRY(const auto node, hierarchy_.Load(path));
    Note(path, *node);
    model::Group group;
    if (!node->is_group()) {
      AddArray(*node, group);
      return group;
    }
    group = std::get<model::Group>(node->entity);
    AddChildren(path, group, 0);
    return group;
  }

 private:
  void AddChildren(std::string_view path, model::Group& group, int depth) {
    if (depth >= kMaxGroupDepth) {
      return Complain(path, model::Error(model::ErrorCode::kLimit, "groups nest too deep"));
    }
    auto names = hierarchy_.List(path);
    if (!names) return Complain(path, names.error());
    for (const std::string& name : *names) {
      const std::string child = model::JoinPath(path, name);
      if (const auto link = hierarchy_.GetLink(child)) {
        AddLink(name, *link, group);
      } else {
        AddChild(child, group, depth);
      }
    }
  }

  void AddLink(const std::string& name, const Link& link, model::Group& group) const {
    switch (link.kind) {
      case Link::Kind::kSoft:
        group.links.push_back({name, link.target, {}});
        break;
      case Link::Kind::kExternal:
        group.links.push_back({name, link.path_in_file, link.file});
        break;
      case Link::Kind::kHard:
        AddSecondName(name, link.target, group);
        break;
    }
  }

  // If an object cannot be loaded, its first name reports that.
  void AddSecondName(const std::string& name, const std::string& target,
                     model::Group& group) const {
    const auto node = hierarchy_.Load(target);
    if (!node) return;
    if ((*node)->is_group()) {
      group.groups.emplace_back().name = name;
      group.groups.back().same_as = target;
      return;
    }
    const auto add = [&](auto& arrays) {
      auto& array = arrays.emplace_back();
      array.name = name;
      array.type = (*node)->array().type;
      array.shape = (*node)->array().shape;
      array.dimension_names = (*node)->array().dimension_names;
      array.same_as = target;
    };
    if (std::holds_alternative<model::DimCoord>((*node)->entity)) {
      add(group.dimcoords);
    } else {
      add(group.ndarrays);
    }
  }

  void AddChild(const std::string& path, model::Group& group, int depth) {
    const auto node = hierarchy_.Load(path);
    if (!node) return Complain(path, node.error());
    Note(path, **node);
    if (!(*node)->is_group()) return AddArray(**node, group);
    group.groups.push_back(std::get<model::Group>((*node)->entity));
    AddChildren(path, group.groups.back(), depth + 1);
  }

  static void AddArray(const Node& node, model::Group& group) {
    if (const auto* dimcoord = std::get_if<model::DimCoord>(&node.entity)) {
      group.dimcoords.push_back(*dimcoord);
      group.dimcoords.back().layout = node.layout();
    } else {
      group.ndarrays.push_back(node.array());
      group.ndarrays.back().layout = node.layout();
    }
  }

  void Note(std::string_view path, const Node& node) {
    if (node.error) Complain(path, *node.error);
  }
  void Complain(std::string_view path, const model::Error& error) {
    if (errors_) errors_->push_back(model::Error(error).In(path).message());
  }

  const Hierarchy& hierarchy_;
  std::vector<std::string>* const errors_;
};

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

model::Result<model::Group> ReadGroup(const Hierarchy& hierarchy, std::string_view path,
                                      std::vector<std::string>* errors) {
  return GroupReader(hierarchy, errors).Read(path);
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
