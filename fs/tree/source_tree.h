// SPDX-License-Identifier: MIT
//
// The nodes of what is shown as it is: directories, plain files, symbolic
// links.
#pragma once

#include <string>

#include "fs/tree/mount_context.h"
#include "fs/tree/tree_node.h"

namespace ndlfs::fs {

// Permissions of the source without those to write; those to execute only for
// directories.
Attributes AttributesOf(const backends::FileStatus& status);

// The path of `name` in the directory `path` of the source.
std::string JoinSourcePath(const std::string& path, std::string_view name);

// What is made of the stores at and below a path of the source.
enum class Stores {
  kFolders,   // the tree of the store
  kAsTheyAre  // nothing: they are plain files and directories like any other
};

// What stands at `path`; kNotFound where nothing does.
model::Result<TreeNodePtr> FindSourceNode(MountContext& context, const std::string& path,
                                          Stores stores = Stores::kFolders);

// `.ndlfs/source`: all of the source under its own names, byte for byte. Where
// the source is one file, a directory with that file alone.
model::Result<TreeNodePtr> FindSourceMirror(MountContext& context);

}  // namespace ndlfs::fs
