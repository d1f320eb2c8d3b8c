// SPDX-License-Identifier: MIT
//
// The nodes of files that are shown unchanged: directories, plain files,
// symbolic links.
#pragma once

#include <string>

#include "fs/tree/mount_context.h"
#include "fs/tree/tree_node.h"

namespace ndlfs::fs {

// The attributes of a file of the source. No file has permission to write, and
// only directories have permission to execute.
Attributes AttributesOf(const backends::FileStatus& status);

// The path of `name` in the directory `path` of the source.
std::string JoinSourcePath(const std::string& path, std::string_view name);

// How stores at and below a path of the source are shown.
enum class Stores {
  kFolders,   // as the tree of the store
  kAsTheyAre  // unchanged, as plain files and directories
};

// The node of the file at `path`; kNotFound if there is none.
model::Result<TreeNodePtr> FindSourceNode(MountContext& context, const std::string& path,
                                          Stores stores = Stores::kFolders);

// Whether `node` is a file of the source as it is, and not made by ndlfs.
bool IsPlainFile(const TreeNode& node);

// `.ndlfs/source`: all of the source under its own names, byte for byte. If the
// source is one file, a directory with that file alone.
model::Result<TreeNodePtr> FindSourceMirror(MountContext& context);

}  // namespace ndlfs::fs
