// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/format/hierarchy.h"

namespace ndlfs::backends {

// What attributes of the array at `path` say of its meaning that cannot be understood, a line
// each: packing, times, and what `coordinates`, `bounds` and `grid_mapping` name (CF, section
// 2.7). Views leave it out.
std::vector<std::string> NotesOfMeaning(const Hierarchy& hierarchy, std::string_view path,
                                        const Node& array);

}  // namespace ndlfs::backends
