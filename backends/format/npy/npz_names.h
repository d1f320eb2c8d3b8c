// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace ndlfs::backends {

// Which objects an NPZ file holds, by path name.
struct NpzNames {
  std::map<std::string, std::string> arrays;            // the member of each
  std::map<std::string, std::set<std::string>> groups;  // names of the children
};

// `members` are the names of the members that are arrays, in ascending order
// and each once; `folders` those that are folders, without '/' at the end.
NpzNames NameNpzMembers(const std::vector<std::string>& members,
                        const std::vector<std::string>& folders);

}  // namespace ndlfs::backends
