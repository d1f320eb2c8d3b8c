// SPDX-License-Identifier: MIT
//
// Checks of a source before anybody serves it.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "fs/serve/mount_options.h"
#include "model/error.h"

namespace ndlfs::fs {

// Absolute paths without symbolic links.
struct SourcePaths {
  std::string source;  // of a URL: without user, password and query
  // `directory` is the source itself or, if the source is one file, the
  // directory that it is in; `file` is then its name there, and else empty.
  std::string directory;
  std::string file;
  std::string url;  // the source as it was given, if it is a URL; then the two above are empty
};

// Resolves the path of the source of `options`. Refuses a source that does not exist, or that
// is neither a directory nor a file that is a store. The message is one line that says what to
// do about it.
model::Result<SourcePaths> CheckSource(const MountOptions& options);

// The absolute path of `path` without symbolic links. The error begins with `what`.
model::Result<std::string> ResolvePath(const char* what, const std::string& path);

// Whether there is a directory at `path`. The error begins with `what`.
model::Result<void> CheckDirectory(const char* what, const std::string& path);

// Whether the directory `inner` is `outer` or below it. Compares devices and
// inodes, and so recognizes a directory under another path. Both are without symbolic links;
// `inner` need not exist.
bool IsInside(std::string inner, const std::string& outer);

// Refuses the directory `path`, which ndlfs is to write files to, if it is in the directory
// `source`: the mount would show these files, and nothing is written to a source. The error
// begins with `what`. An empty path, or one that cannot be followed, is none.
model::Result<void> CheckOutside(const char* what, const std::string& path,
                                 const std::string& source);

// "a named pipe" and the like; empty for directories, regular files and links.
std::string_view SpecialKind(mode_t mode);

}  // namespace ndlfs::fs
