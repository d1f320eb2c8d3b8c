// SPDX-License-Identifier: MIT
#include "fs/view/container/classic_arrays.h"

#include <string>
#include <utility>
#include <vector>

#include "fs/view/container/group_children.h"
#include "model/path_name.h"

namespace ndlfs::fs::classic {
namespace {

using model::Result;
using ArrayTaker = std::function<void(const GroupArray&)>;

constexpr size_t kLooks = 1000;

// Stands for a child that may be an array, but cannot be loaded.
std::shared_ptr<const backends::Node> Unreadable(model::Error error) {
  auto node = std::make_shared<backends::Node>();
  node->entity = model::Ndarray();
  node->error = std::move(error);
  return node;
}

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
                            OuterArrays& outer) {
  NDLFS_TRY(const auto names, ListObjects(group));
  return LoadEach(
      group, names, [&](const std::string& name, Result<GroupChild> child) -> Result<void> {
        if (!child && child.error().is_of_system()) {
          return model::Propagate(std::move(child).error(), name);
        }
        if (!child && child.error().code() == model::ErrorCode::kNotFound) return {};
        if (child && child->node->is_group()) return {};
        const GroupArray array =
            child ? GroupArray{model::JoinPath(group.path(), name), child->node, child->array}
                  : GroupArray{model::JoinPath(group.path(), name),
                               Unreadable(std::move(child).error())};
        take(array);
        return array.input ? outer.AddOf(*array.input) : Result<void>();
      });
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
  OuterArrays outer(group, /*holds_subgroups=*/false);
  NDLFS_RETURN_IF_ERROR(VisitOwnArrays(group, take, outer));
  for (OuterArray& one : outer.Take()) {
    const auto node = one.array.node;
    take({std::move(one.path), node, std::move(one.array), std::move(one.name)});
  }
  return {};
}

}  // namespace ndlfs::fs::classic
