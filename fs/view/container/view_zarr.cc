// SPDX-License-Identifier: MIT
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fs/view/container/group_children.h"
#include "fs/view/container/views.h"
#include "fs/view/container/zarr_tree.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using model::Result;

bool HasZarrType(const ArrayInput& input) { return zarr::HasType(input.dtype); }
bool IsAnyGroup(const GroupInput&) { return true; }

// Listed, it would have everybody who copies a folder copy the data once more, in thousands of
// files.
template <typename Input>
bool IsFoundByName(const Input&) {
  return false;
}

Result<ViewNode> MakeZarrArray(const ArrayInput& input) {
  if (auto refusal = RefuseWithoutElements(input)) return model::Propagate(*refusal);
  NDLFS_TRY(zarr::StoredArray array, zarr::DescribeArray(input));
  return zarr::MakeArrayDirectory(std::move(array));
}

// The names that a node of a Zarr v3 hierarchy may have, and a directory, too.
bool IsNodeName(std::string_view name) {
  return !name.empty() && name.size() <= 255 && !name.starts_with("__") &&
         name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos &&
         name.find_first_not_of('.') != std::string_view::npos && name != "zarr.json";
}

class ZarrBuilder {
 public:
  Result<ViewDirectoryPtr> Build(const GroupInput& group, size_t depth) {
    constexpr size_t kMostObjects = 50'000;
    NDLFS_TRY(auto names, group.List(), group.path());
    objects_ += names.size();
    if (objects_ > kMostObjects) return model::Limit("more than {} objects", kMostObjects);
    Level level;
    NDLFS_RETURN_IF_ERROR(TakeNames(group, names, level));
    NDLFS_RETURN_IF_ERROR(
        LoadEach(group, names, [&](const std::string& name, Result<GroupChild> child) {
          return Take(name, std::move(child), level);
        }));
    for (auto& [name, child] : level.groups) {
      if (depth == kMostDepth) {
        level.left_out.push_back(model::OneLine(name) + ": its groups are nested too deep");
        continue;
      }
      NDLFS_TRY(ViewDirectoryPtr directory, Build(*child, depth + 1));
      level.children.emplace_back(name, std::move(directory));
    }
    std::ranges::sort(level.children, {}, &zarr::Children::value_type::first);
    return zarr::MakeGroupDirectory(
        zarr::DescribeGroup(group.node().attributes(), level.left_out),
        std::move(level.children));
  }

 private:
  static constexpr size_t kMostDepth = 200;

  struct Level {
    zarr::Children children;
    std::vector<std::pair<std::string, std::shared_ptr<const GroupInput>>> groups;
    std::vector<std::string> left_out;
  };

  // Leaves in `names` what can be in the hierarchy.
  static Result<void> TakeNames(const GroupInput& group, std::vector<std::string>& names,
                                Level& level) {
    std::vector<std::string> kept;
    for (std::string& name : names) {
      NDLFS_TRY(const auto link, group.GetLink(name), model::JoinPath(group.path(), name));
      if (link) {
        level.left_out.push_back(model::OneLine(name) + ": Zarr has no links");
      } else if (!IsNodeName(name)) {
        level.left_out.push_back(model::OneLine(name) + ": Zarr has no such names");
      } else {
        kept.push_back(std::move(name));
      }
    }
    names = std::move(kept);
    return {};
  }

  static Result<void> Take(const std::string& name, Result<GroupChild> child, Level& level) {
    if (!child && child.error().is_transient()) {
      return model::Propagate(std::move(child).error(), name);
    }
    if (child && child->group) {
      level.groups.emplace_back(name, std::move(child->group));
      return {};
    }
    Result<ViewDirectoryPtr> array = nullptr;
    if (child) {
      array = MakeArray(*child);
    } else {
      array = model::Propagate(std::move(child).error());
    }
    if (array) {
      level.children.emplace_back(name, *std::move(array));
    } else {
      level.left_out.push_back(model::OneLine(name) + ": " + array.error().message());
    }
    return {};
  }

  static Result<ViewDirectoryPtr> MakeArray(const GroupChild& child) {
    if (!child.array) {
      return child.node && child.node->error ? model::Propagate(*child.node->error)
                                             : model::Unsupported("it cannot be read");
    }
    if (!HasZarrType(*child.array)) {
      return model::Unsupported("elements of type {}", child.array->dtype.keyword());
    }
    NDLFS_TRY(const ViewNode node, MakeZarrArray(*child.array));
    return DirectoryOf(node);
  }

  size_t objects_ = 0;
};

Result<ViewNode> MakeZarrGroup(const GroupInput& group) {
  return ZarrBuilder().Build(group, 0);
}

}  // namespace

const ArrayViewKind kZarrArrayView = {
    .file_name = "data.zarr",
    .is_directory = true,
    .applies_to = &HasZarrType,
    .is_listed = &IsFoundByName<ArrayInput>,
    .refuse = &RefuseWithoutElements,
    .make = &MakeZarrArray,
};

const GroupViewKind kZarrGroupView = {
    .file_name = "data.zarr",
    .is_directory = true,
    .applies_to = &IsAnyGroup,
    .is_listed = &IsFoundByName<GroupInput>,
    .holds_subgroups = true,
    .make = &MakeZarrGroup,
};

}  // namespace ndlfs::fs
