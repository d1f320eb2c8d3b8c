// SPDX-License-Identifier: MIT
//
// The root of the mount, and `.ndlfs/` in it with the mirror of the source.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fs/tree/mount_context.h"
#include "fs/tree/tree_node.h"

namespace ndlfs::fs {

// A file whose text is made for the caller when it is opened.
struct ControlFile {
  std::string name;
  std::function<std::string()> text;
  mode_t mode = 0444;
  // Whether the file is a log, to which lines are appended. It then has a size, and an open
  // file shows new lines as well, so that `tail -f` follows it.
  bool grows = false;
};

// The root: the source directory with the control folder in it. If the source directory, or the
// one file that is shown, is a store, the root is the folder of that store.
TreeNodePtr MakeRoot(MountContext& context, std::vector<ControlFile> control_files);

}  // namespace ndlfs::fs
