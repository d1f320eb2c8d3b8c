// SPDX-License-Identifier: MIT
#include "fs/view/container/classic_arrays.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fs/view/base/array_part.h"
#include "fs/view/container/group_children.h"
#include "model/path_name.h"

namespace ndlfs::fs::classic {
namespace {

using model::Result;
using ArrayTaker = std::function<void(const GroupArray&)>;

constexpr size_t kLooks = 1000;

// Stands for a child that may be an array, but cannot be loaded.
std::shared_ptr<const backends::Node> Unreadable() {
  auto node = std::make_shared<backends::Node>();
  node->entity = model::Ndarray();
  return node;
}

// The coordinates that arrays of the group name, each with the first array that does.
struct NamedCoordinates {
  struct Named {
    std::string path;
    ArrayInput array;
    size_t dimension;
  };
  std::vector<Named> list;
  std::set<std::string> known;

  void AddOf(const GroupArray& array) {
    if (!array.input) return;
    const model::Shape& shape = array.node->array().shape;
    for (size_t d = 0; d < shape.size(); ++d) {
      const std::string& path = shape[d].dimcoord;
      if (!path.empty() && known.insert(path).second) list.push_back({path, *array.input, d});
    }
  }
};

// The children that are no links.
Result<std::vector<std::string>> ListObjects(const GroupInput& group) {
  NDLFS_TRY(std::vector<std::string> names, group.List());
  std::vector<std::string> objects;
  for (std::string& name : names) {
    NDLFS_TRY(const auto link, group.GetLink(name), name);
    if (!link) objects.push_back(std::move(name));
  }
  return objects;
}

Result<void> VisitOwnArrays(const GroupInput& group, const ArrayTaker& take,
                            NamedCoordinates& named) {
  NDLFS_TRY(const auto names, ListObjects(group));
  std::set<std::string> own;
  NDLFS_RETURN_IF_ERROR(LoadEach(
      group, names, [&](const std::string& name, Result<GroupChild> child) -> Result<void> {
        if (!child && child.error().is_of_system()) {
          return model::Propagate(std::move(child).error(), name);
        }
        if (!child && child.error().code() == model::ErrorCode::kNotFound) return {};
        GroupArray array = {model::JoinPath(group.path(), name), Unreadable(), {}};
        if (child) {
          if (child->node->is_group()) return {};
          array.node = std::move(child->node);
          array.input = std::move(child->array);
        }
        named.AddOf(array);
        take(array);
        own.insert(std::move(array.path));
        return {};
      }));
  std::erase_if(named.list,
                [&](const auto& coordinate) { return own.contains(coordinate.path); });
  return {};
}

// Visits the coordinates, from groups around this one, of the dimensions of its arrays. Without
// those that cannot be loaded the values of the arrays are still right.
Result<void> VisitOuterCoordinates(const NamedCoordinates& named, const ArrayTaker& take) {
  for (const auto& [path, array, dimension] : named.list) {
    auto found = FindCoordinate(array, dimension);
    if (!found && found.error().is_of_system()) return model::Propagate(found.error());
    if (!found || !*found) continue;
    const auto node = (*found)->node;
    take({path, node, **std::move(found), DimensionName(array, dimension)});
  }
  return {};
}

}  // namespace

bool HasArrayAmong(const GroupInput& group, const std::vector<std::string>& names,
                   size_t most) {
  for (size_t i = 0; i < names.size() && i < most; ++i) {
    const auto child = group.Load(names[i]);
    if (child && child->node && !child->node->is_group()) return true;
  }
  return false;
}

bool MayHaveArrays(const GroupInput& group) {
  const auto names = group.List();
  return names && (HasArrayAmong(group, *names, kLooks) || names->size() > kLooks);
}

Result<void> VisitArrays(const GroupInput& group, const ArrayTaker& take) {
  NamedCoordinates named;
  NDLFS_RETURN_IF_ERROR(VisitOwnArrays(group, take, named));
  return VisitOuterCoordinates(named, take);
}

}  // namespace ndlfs::fs::classic
