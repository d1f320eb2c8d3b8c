// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/format/hierarchy.h"
#include "backends/format/outline.h"
#include "model/path_name.h"

namespace ndlfs::backends {

inline model::Result<model::Group> WholeGroup(const Hierarchy& hierarchy,
                                              const Outline& outline, const std::string& path) {
  NDLFS_TRY(auto group, LoadGroup(hierarchy, outline, path));
  for (const Outline& child : outline.children) {
    const std::string child_path = model::JoinPath(path, child.name);
    if (child.kind == Outline::Kind::kLink) continue;
    if (child.kind == Outline::Kind::kGroup) {
      NDLFS_TRY(auto below, WholeGroup(hierarchy, child, child_path));
      group.groups.push_back(std::move(below));
      continue;
    }
    NDLFS_TRY(auto array, LoadArray(hierarchy, child, child_path));
    if (child.kind == Outline::Kind::kDimCoord) {
      group.dimcoords.push_back(std::move(array));
    } else {
      group.ndarrays.push_back(static_cast<model::Ndarray&&>(array));
    }
  }
  return group;
}

// All objects as one model. A second name of an object has its shape and type only. Objects
// that cannot be loaded are left out; `errors`, if given, gets a line for each that is missing
// or has an error of its own.
//
// Does not fill in values of arrays. Begins at `path`, which is a group or an array; the array
// is then all that the returned group holds.
inline model::Result<model::Group> ReadGroup(const Hierarchy& hierarchy, std::string_view path,
                                             std::vector<std::string>* errors = nullptr) {
  NDLFS_TRY(Outline outline, ReadOutline(hierarchy, path, errors));
  if (outline.kind != Outline::Kind::kGroup) {
    Outline around{.node = std::make_shared<const Node>()};
    around.children.push_back(std::move(outline));
    return WholeGroup(hierarchy, around, "");
  }
  return WholeGroup(hierarchy, outline, std::string(path));
}

}  // namespace ndlfs::backends
