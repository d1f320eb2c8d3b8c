// SPDX-License-Identifier: MIT
//
// Where a path on the command line leads to, for the commands that need no
// mount but may be given a path inside one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/error.h"

namespace ndlfs::fs {

// A file or directory of a source.
struct SourcePath {
  // A directory, absolute and without symbolic links; nothing outside is read.
  std::string root;
  std::string path;  // below it; "" is the directory itself
  // Of a path inside a mount that leads into a store: the names of the folders
  // below the folder of that store, which `path` is.
  std::vector<std::string> folders;
  // Whether `root` is what a mount shows, and not just the directory that holds the path.
  bool is_mounted = false;
};

// `given` may be spelled in any way ("." and links too). For a folder inside a
// mount of ndlfs the result is what that folder shows of the source, read
// through `.ndlfs/source` of the mount; for anything else, the directory that
// holds it, and its name. A mount that has died is an error that says so.
model::Result<SourcePath> FindSourcePath(const std::string& given);

// The same path below "/": for a description (Format::describes_others()), as the person who
// names it on a command line has chosen no directory to stay in. In a mount, that directory is
// the source of the mount, and the path stays as it is.
SourcePath WidenForDescription(SourcePath place);

}  // namespace ndlfs::fs
