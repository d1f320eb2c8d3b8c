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

// "a named pipe" and the like; empty for directories, regular files and links.
std::string_view SpecialKind(mode_t mode);

}  // namespace ndlfs::fs
