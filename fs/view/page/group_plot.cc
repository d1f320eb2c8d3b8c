// SPDX-License-Identifier: MIT
#include "fs/view/page/group_plot.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "backends/format/nexus.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using model::Result;

// Links and groups one after the other.
constexpr int kMostPlotSteps = 16;

Result<GroupChild> LoadThrough(const GroupInput& group, std::string_view name, int steps);

// The object at an absolute path of the store.
Result<GroupChild> LoadAt(const GroupInput& group, const std::string& path, int steps) {
  std::shared_ptr<const GroupInput> at;  // null: `group` itself
  for (auto outer = group.Outer(); outer != nullptr; outer = outer->Outer()) at = outer;
  const auto parts = model::SplitPath(path);
  GroupChild child;
  for (size_t i = 0; i < parts.size(); ++i) {
    NDLFS_TRY(child, LoadThrough(at ? *at : group, parts[i], steps));
    if (i + 1 == parts.size()) return child;
    if (child.group == nullptr) break;
    at = child.group;
  }
  return model::NotFound("{}", path);
}

// The child, also by a link.
Result<GroupChild> LoadThrough(const GroupInput& group, std::string_view name, int steps) {
  NDLFS_TRY(const auto link, group.GetLink(name));
  if (!link) return group.Load(name);
  if (steps == 0 || link->kind == backends::Link::Kind::kExternal) {
    return model::NotFound("{}", name);
  }
  const std::string path = link->target.starts_with('/')
                               ? link->target
                               : model::JoinPath(group.path(), link->target);
  return LoadAt(group, path, steps - 1);
}

backends::NexusChildren ChildrenOf(const GroupInput& group) {
  return {[&group] { return group.List(); },
          [&group](std::string_view name) {
            auto child = LoadThrough(group, name, kMostPlotSteps);
            return child ? child->node : nullptr;
          }};
}

// A child, or one further below: `default` may be a path.
Result<GroupChild> LoadBelow(const GroupInput& group, const std::string& path) {
  if (path.find('/') == path.npos) return LoadThrough(group, path, kMostPlotSteps);
  const std::string whole = path.starts_with('/') ? path : model::JoinPath(group.path(), path);
  return LoadAt(group, whole, kMostPlotSteps);
}

}  // namespace

Result<std::optional<ArrayInput>> FindGroupPlot(const GroupInput& group) {
  const GroupInput* at = &group;
  std::shared_ptr<const GroupInput> held;
  for (int i = 0; i < kMostPlotSteps; ++i) {
    const auto children = ChildrenOf(*at);
    std::string name = backends::NexusDefaultOf(at->node(), children);
    const bool is_plot = name.empty();
    if (is_plot) {
      const auto plot = backends::FindNexusPlot(at->node(), children);
      if (!plot) return std::nullopt;
      name = plot->signal;
    }
    auto child = LoadBelow(*at, name);
    if (!child && child.error().is_transient()) {
      return model::Propagate(std::move(child).error(), name);
    }
    if (!child) return std::nullopt;
    if (child->array) return std::move(child->array);
    if (is_plot || child->group == nullptr) return std::nullopt;
    held = std::move(child->group);
    at = held.get();
  }
  return std::nullopt;
}

}  // namespace ndlfs::fs
