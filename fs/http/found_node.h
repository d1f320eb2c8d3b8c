// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "fs/tree/tree_node.h"

namespace ndlfs::fs {

struct FoundNode {
  TreeNodePtr node;
  std::vector<std::string> names;  // its path, without links in it
  bool is_by_link = false;         // a link led to it
};

// The node at a path of the tree. Follows symbolic links as the kernel does in a mount, but
// never out of the tree: the target of an absolute link is not found.
model::Result<FoundNode> FindNodeAt(const TreeNodePtr& root,
                                    const std::vector<std::string>& names);

// The entry `name` of `directory`, which is at `path`; follows links.
model::Result<FoundNode> FindEntry(const TreeNodePtr& root,
                                   const std::vector<std::string>& path,
                                   const TreeNodePtr& directory, const std::string& name);

}  // namespace ndlfs::fs
