// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace ndlfs::backends {

// The objects in an NPZ file, by path name.
struct NpzNames {
  std::map<std::string, std::string> arrays;            // path to the name of the member
  std::map<std::string, std::set<std::string>> groups;  // path to the names of the children
};

// Names the objects in an NPZ file. `members` are the names of the members that are arrays, in
// ascending order without duplicates; `folders` are the names of folders, without '/' at the
// end.
NpzNames NameNpzMembers(const std::vector<std::string>& members,
                        const std::vector<std::string>& folders);

}  // namespace ndlfs::backends
