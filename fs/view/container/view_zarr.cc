// SPDX-License-Identifier: MIT
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fs/view/base/unpacked.h"
#include "fs/view/container/group_children.h"
#include "fs/view/container/views.h"
#include "fs/view/container/zarr_metadata.h"
#include "fs/view/container/zarr_tree.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using model::Result;
using zarr::Version;

template <Version version>
bool HasZarrType(const ArrayInput& input) {
  if (!input.dtype.is_fixed_size() && input.reader == nullptr) return false;
  return zarr::DescribeType(input.dtype, version).has_value();
}
bool IsAnyGroup(const GroupInput&) { return true; }

// If it were listed, everybody who copies a folder would copy the data once more, in thousands
// of files.
template <typename Input>
bool IsFoundByName(const Input&) {
  return false;
}

template <Version version>
std::optional<model::Error> RefuseZarrArray(const ArrayInput& input) {
  if (input.dtype.is_fixed_size()) return RefuseWithoutElements(input);
  auto array = zarr::DescribeArray(input, version);
  return array ? std::nullopt : std::optional(std::move(array).error());
}

template <Version version>
Result<ViewNode> MakeZarrArray(const ArrayInput& input) {
  NDLFS_TRY(zarr::StoredArray array, zarr::DescribeArray(input, version));
  return zarr::MakeArrayDirectory(std::move(array));
}

// The names that a node of a Zarr hierarchy may have, and a directory, too.
bool IsNodeName(std::string_view name, Version version) {
  const bool is_sound = !name.empty() && name.size() <= 255 &&
                        name.find('/') == std::string_view::npos &&
                        name.find('\0') == std::string_view::npos &&
                        name.find_first_not_of('.') != std::string_view::npos;
  if (version == Version::kV3) {
    return is_sound && !name.starts_with("__") && name != "zarr.json";
  }
  return is_sound && name != ".zarray" && name != ".zgroup" && name != ".zattrs" &&
         name != ".zmetadata";
}

class ZarrBuilder {
 public:
  // `is_unpacked`: the values that numbers stand for, where that is known.
  ZarrBuilder(Version version, bool is_unpacked)
      : version_(version), is_unpacked_(is_unpacked) {}

  Result<ViewNode> Build(const GroupInput& root) {
    OuterArrays outer(root, /*holds_subgroups=*/true);
    outer_ = &outer;
    NDLFS_TRY(Level level, TakeGroup(root, "", 0));
    TakeOuter(level);
    std::vector<zarr::Document> documents =
        zarr::DescribeGroup(root.node(), level.left_out, version_);
    NDLFS_TRY(ViewPtr consolidated, zarr::Consolidate(documents, nodes_, version_));
    return zarr::MakeGroupDirectory(std::move(documents), std::move(level.children),
                                    std::string(zarr::ConsolidatedName(version_)),
                                    std::move(consolidated));
  }

 private:
  static constexpr size_t kMostDepth = 200;
  static constexpr size_t kMostObjects = 50'000;

  struct Level {
    zarr::Children children;
    std::vector<std::pair<std::string, std::shared_ptr<const GroupInput>>> groups;
    std::vector<std::string> left_out;
  };

  // All that is in the group. `below` is its path in the hierarchy: "" or "forecast/".
  Result<Level> TakeGroup(const GroupInput& group, const std::string& below, size_t depth) {
    NDLFS_TRY(auto names, group.List(), group.path());
    objects_ += names.size();
    if (objects_ > kMostObjects) return model::Limit("more than {} objects", kMostObjects);
    Level level;
    NDLFS_RETURN_IF_ERROR(TakeNames(group, names, level));
    NDLFS_RETURN_IF_ERROR(
        LoadEach(group, names, [&](const std::string& name, Result<GroupChild> child) {
          return Take(model::JoinPath(group.path(), name), below, name, std::move(child),
                      level);
        }));
    for (auto& [name, child] : level.groups) {
      if (depth == kMostDepth) {
        level.left_out.push_back(model::OneLine(name) + ": its groups are nested too deep");
        continue;
      }
      NDLFS_TRY(ViewDirectoryPtr directory, TakeSubgroup(*child, below + name, depth + 1));
      level.children.emplace_back(name, std::move(directory));
    }
    std::ranges::sort(level.children, {}, &zarr::Children::value_type::first);
    return level;
  }

  Result<ViewDirectoryPtr> TakeSubgroup(const GroupInput& group, const std::string& path,
                                        size_t depth) {
    const size_t number = nodes_.size();
    nodes_.push_back({.path = path, .is_group = true});
    NDLFS_TRY(Level level, TakeGroup(group, path + '/', depth));
    nodes_[number].documents = zarr::DescribeGroup(group.node(), level.left_out, version_);
    return zarr::MakeGroupDirectory(nodes_[number].documents, std::move(level.children));
  }

  // Leaves in `names` what can be in the hierarchy.
  Result<void> TakeNames(const GroupInput& group, std::vector<std::string>& names,
                         Level& level) const {
    std::vector<std::string> kept;
    for (std::string& name : names) {
      NDLFS_TRY(const auto link, group.GetLink(name), model::JoinPath(group.path(), name));
      if (link) {
        level.left_out.push_back(model::OneLine(name) + ": Zarr has no links");
      } else if (!IsNodeName(name, version_)) {
        level.left_out.push_back(model::OneLine(name) + ": Zarr has no such names");
      } else {
        kept.push_back(std::move(name));
      }
    }
    names = std::move(kept);
    return {};
  }

  Result<void> Take(std::string path, const std::string& below, const std::string& name,
                    Result<GroupChild> child, Level& level) {
    if (!child && child.error().is_transient()) {
      return model::Propagate(std::move(child).error(), name);
    }
    if (child && child->group) {
      level.groups.emplace_back(name, std::move(child->group));
      return {};
    }
    auto array = child ? DescribeChild(*child, std::move(path))
                       : model::Propagate(std::move(child).error());
    if (!array) {
      level.left_out.push_back(model::OneLine(name) + ": " + array.error().message());
      return {};
    }
    nodes_.push_back({.path = below + name, .documents = array->documents});
    level.children.emplace_back(name, zarr::MakeArrayDirectory(*std::move(array)));
    return outer_->AddOf(*child->array);
  }

  // The arrays from groups around the root of the hierarchy.
  void TakeOuter(Level& level) {
    for (OuterArray& one : outer_->Take()) {
      const auto is_called = [&](const auto& child) { return child.first == one.name; };
      if (!IsNodeName(one.name, version_) || std::ranges::any_of(level.children, is_called)) {
        continue;
      }
      const GroupChild child{one.array.node, one.array, nullptr};
      auto array = DescribeChild(child, std::move(one.path));
      if (!array) continue;
      nodes_.push_back({.path = one.name, .documents = array->documents});
      level.children.emplace_back(one.name, zarr::MakeArrayDirectory(*std::move(array)));
    }
    std::ranges::sort(level.children, {}, &zarr::Children::value_type::first);
  }

  Result<zarr::StoredArray> DescribeChild(const GroupChild& child, std::string path) const {
    if (!child.array) {
      return child.node && child.node->error ? model::Propagate(*child.node->error)
                                             : model::Unsupported("it cannot be read");
    }
    if (is_unpacked_) {
      if (const auto values = MakeUnpacked(*child.array, UnpackedForm::kNumbers)) {
        return zarr::DescribeArray(*values, version_, std::move(path));
      }
    }
    return zarr::DescribeArray(*child.array, version_, std::move(path));
  }

  const Version version_;
  const bool is_unpacked_;
  size_t objects_ = 0;
  OuterArrays* outer_ = nullptr;
  std::vector<zarr::NodeDocuments> nodes_;  // of a walk in depth
};

template <Version version, bool is_unpacked>
Result<ViewNode> MakeZarrGroup(const GroupInput& group) {
  return ZarrBuilder(version, is_unpacked).Build(group);
}

constexpr std::string_view kZarrDescriptions[] = {"Zarr v3, a directory",
                                                  "Zarr v2, a directory"};

template <Version version>
constexpr ArrayViewKind ArrayKind(std::string_view file_name) {
  return {.file_name = file_name,
          .description = kZarrDescriptions[version == Version::kV2],
          .is_directory = true,
          .applies_to = &HasZarrType<version>,
          .is_listed = &IsFoundByName<ArrayInput>,
          .refuse = &RefuseZarrArray<version>,
          .make = &MakeZarrArray<version>};
}

template <Version version, bool is_unpacked>
constexpr GroupViewKind GroupKind(std::string_view file_name) {
  return {.file_name = file_name,
          .description = kZarrDescriptions[version == Version::kV2],
          .is_directory = true,
          .applies_to = &IsAnyGroup,
          .is_listed = &IsFoundByName<GroupInput>,
          .holds_subgroups = true,
          .make = &MakeZarrGroup<version, is_unpacked>};
}

}  // namespace

const ArrayViewKind kZarrArrayView = ArrayKind<Version::kV3>("data.zarr");
const ArrayViewKind kZarr2ArrayView = ArrayKind<Version::kV2>("data.zarr2");
const GroupViewKind kZarrGroupView = GroupKind<Version::kV3, false>("data.zarr");
const GroupViewKind kZarr2GroupView = GroupKind<Version::kV2, false>("data.zarr2");
const GroupViewKind kValuesZarrView = GroupKind<Version::kV3, true>("values.zarr");
const GroupViewKind kValuesZarr2View = GroupKind<Version::kV2, true>("values.zarr2");

}  // namespace ndlfs::fs
