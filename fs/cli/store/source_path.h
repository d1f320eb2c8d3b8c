// SPDX-License-Identifier: MIT
//
// Finds the source of a path on the command line, for commands that need no mount but may get a
// path inside of one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/error.h"

namespace ndlfs::fs {

// A file or directory of a source.
struct SourcePath {
  // A directory, absolute and without symbolic links. Nothing outside of it is read.
  std::string root;
  std::string path;  // below it; "" is the directory itself
  // The names of the folders below the folder of a store, if the path leads into a store inside
  // a mount. `path` is then that store.
  std::vector<std::string> folders;
  // Whether `root` is the source of a mount, and not just the directory that holds the path.
  bool is_mounted = false;
  // The version of that store that the folder shows, as OpenOptions::ref; "": the usual one.
  std::string ref = {};
};

// `given` may be spelled in any way ("." and links too). For a folder inside a mount of ndlfs,
// returns the part of the source that the folder shows, read through `.ndlfs/source` of the
// mount. For any other path, returns the directory that holds it, and its name. A mount that
// has died is an error that says so.
model::Result<SourcePath> FindSourcePath(const std::string& given);

// The same path below "/". For a description (Format::describes_others()): a person who names
// it on a command line has chosen no directory to stay in. In a mount the user has: the source
// of the mount, so the path stays as it is.
SourcePath WidenForDescription(SourcePath place);

}  // namespace ndlfs::fs
