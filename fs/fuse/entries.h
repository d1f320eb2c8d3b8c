// SPDX-License-Identifier: MIT
//
// Tells the kernel about the nodes of the tree.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "fs/fuse/fuse.h"
#include "fs/fuse/inode_table.h"
#include "fs/fuse/operations.h"
#include "fs/tree/tree_node.h"
#include "model/error.h"

namespace ndlfs::fs {

TreeNode& AsNode(const InodeTable::Inode& inode);

struct ::stat ToStat(const FilesystemOptions& options, uint64_t ino,
                     const Attributes& attributes);

// The kernel asks only for the inode number and the type of an entry in a listing.
struct ::stat ListedStat(const InodeTable& table, const InodeTable::Inode& directory,
                         const DirectoryEntry& entry);

// How long, in seconds, the kernel may trust the result of a lookup of `name`.
double TimeoutOf(const FilesystemOptions& options, const InodeTable::Inode& directory,
                 std::string_view name);

// The answer to a lookup that found `node` in `parent`. Counts the lookup: the kernel will
// forget the nodeid once more.
model::Result<fuse_entry_param> CountLookup(const FilesystemOptions& options, InodeTable& table,
                                            const InodeTable::Inode& parent,
                                            std::string_view name, TreeNodePtr node);
// The same for a file in a listing of `parent`; nullopt if `parent` has been forgotten.
std::optional<fuse_entry_param> CountListed(const FilesystemOptions& options, InodeTable& table,
                                            const InodeTable::Inode& parent,
                                            std::string_view name, const ListedFile& file);

}  // namespace ndlfs::fs
