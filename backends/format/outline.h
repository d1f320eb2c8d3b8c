// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/format/hierarchy.h"

namespace ndlfs::backends {

// What is in a group, from which the NDL of a whole store is written. There may be so many
// objects that they do not fit into memory: all but the first ones are loaded again when they
// are written.
struct Outline {
  enum class Kind : uint8_t { kGroup, kDimCoord, kNdarray, kLink };
  std::string name = {};
  Kind kind = Kind::kGroup;
  std::unique_ptr<const Link> link = {};  // kLink, or another name of an object
  std::shared_ptr<const Node> node = {};  // null: to be loaded again
  std::vector<Outline> children = {};     // in the order of Hierarchy::List()

  bool Has(Kind wanted) const;  // among the children
};

// The group or array at `path`. Leaves out objects that cannot be loaded; `errors`, if given,
// gets a line for each that is missing or has an error of its own.
model::Result<Outline> ReadOutline(const Hierarchy& hierarchy, std::string_view path,
                                   std::vector<std::string>* errors);
// A group of an outline with its links, but without other objects in it; and an array. A second
// name of an array has its shape and type only. Arrays come without their values.
model::Result<model::Group> LoadGroup(const Hierarchy& hierarchy, const Outline& group,
                                      std::string_view path);
model::Result<model::DimCoord> LoadArray(const Hierarchy& hierarchy, const Outline& array,
                                         std::string_view path);

}  // namespace ndlfs::backends
