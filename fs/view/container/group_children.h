// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fs/view/base/view_input.h"
#include "model/error.h"

namespace ndlfs::fs {

// Loads the children `names` of `group` for their elements (GroupInput::LoadForElements),
// several at a time. Passes them to `take` in order, one at a time, but not always on this
// thread. `take` should keep no more of each than it needs, because there may be very many.
// Stops at an error of `take`.
model::Result<void> LoadEach(
    const GroupInput& group, const std::vector<std::string>& names,
    const std::function<model::Result<void>(const std::string& name,
                                            model::Result<GroupChild> child)>& take);

// Calls `take` for each name of an array in the value `text` of the attribute `attribute`, if
// it is one of those that name arrays: "coordinates". The keys of "area: cell_area" are no
// names, but those of "crs: x y" are. What `take` makes of the name is in the text that is
// returned.
std::string EachNamed(std::string_view attribute, const std::string& text,
                      const std::function<std::string(std::string)>& take);

// An array from outside of a group that a file of the group needs.
struct OuterArray {
  std::string path;  // NDL path name
  std::string name;  // of the dimension, or as an attribute calls it
  ArrayInput array;
};

// The arrays outside of a group that its arrays refer to: coordinates of their dimensions, and
// what attributes such as `coordinates` and `grid_mapping` name (see FindNamed()). Those refer
// to others in turn. Not thread-safe.
class OuterArrays {
 public:
  // `group` must outlive it. Below it are arrays of the file, too, if `holds_subgroups`.
  OuterArrays(const GroupInput& group, bool holds_subgroups)
      : group_(group), holds_subgroups_(holds_subgroups) {}

  // Finds those of an array of the file. Those that cannot be loaded are left out; an error is
  // transient.
  model::Result<void> AddOf(const ArrayInput& array);
  std::vector<OuterArray> Take() { return std::move(list_); }

 private:
  bool IsOutside(const std::string& path) const;
  model::Result<void> AddOne(const ArrayInput& array);

  const GroupInput& group_;
  const bool holds_subgroups_;
  std::set<std::string> known_;  // paths, and names with the group that has them in attributes
  std::vector<OuterArray> list_;
  size_t done_ = 0;  // of the list
};

}  // namespace ndlfs::fs
