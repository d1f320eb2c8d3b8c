// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "fs/tree/tree_node.h"

namespace ndlfs::fs {

// The node at a path of the tree. Follows symbolic links as the kernel does in a mount, but
// never out of the tree: the target of an absolute link is not found.
model::Result<TreeNodePtr> FindNodeAt(const TreeNodePtr& root,
                                      const std::vector<std::string>& names);

// The entry `name` of `directory`, which is at `path`; follows links.
model::Result<TreeNodePtr> FindEntry(const TreeNodePtr& root,
                                     const std::vector<std::string>& path,
                                     const TreeNodePtr& directory, const std::string& name);

}  // namespace ndlfs::fs
