// SPDX-License-Identifier: MIT
//
// What the kernel gets to know of the nodes of the tree.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "fs/fuse/fuse.h"
#include "fs/fuse/operations.h"
#include "fs/tree/inode_table.h"
#include "fs/tree/tree_node.h"
#include "model/error.h"

namespace ndlfs::fs {

TreeNode& AsNode(const InodeTable::Inode& inode);

struct ::stat ToStat(const FilesystemOptions& options, uint64_t ino,
                     const Attributes& attributes);

// The kernel asks only for the inode number and the type of an entry in a listing.
struct ::stat ListedStat(const InodeTable& table, const InodeTable::Inode& directory,
                         const DirectoryEntry& entry);

// How long, in seconds, the kernel may believe what a lookup of `name` has found.
double TimeoutOf(const FilesystemOptions& options, const InodeTable::Inode& directory,
                 std::string_view name);

// What the kernel gets to know of `node`, which was found in `parent`. It then has one more
// lookup of the nodeid to forget.
model::Result<fuse_entry_param> CountLookup(const FilesystemOptions& options, InodeTable& table,
                                            const InodeTable::Inode& parent,
                                            std::string_view name, TreeNodePtr node);
// The same for a file that a listing of `parent` tells; nullopt if `parent` has been forgotten.
std::optional<fuse_entry_param> CountListed(const FilesystemOptions& options, InodeTable& table,
                                            const InodeTable::Inode& parent,
                                            std::string_view name, const ListedFile& file);

}  // namespace ndlfs::fs
