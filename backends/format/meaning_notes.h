// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/format/hierarchy.h"

namespace ndlfs::backends {

// The path names that an attribute of an array in `group` may mean by `name`, by the scopes of
// CF (section 2.7): that from "/" on or, if it has a '/', from `group` on; else the name in
// `group` and in the groups around it, the nearest first.
std::vector<std::string> PathsOfNamed(std::string_view group, std::string_view name);

// What attributes of the array at `path` say of its meaning that cannot be understood, a line
// each: packing, times, and what `coordinates`, `bounds` and `grid_mapping` name. Views leave
// it out.
std::vector<std::string> NotesOfMeaning(const Hierarchy& hierarchy, std::string_view path,
                                        const Node& array);

}  // namespace ndlfs::backends
