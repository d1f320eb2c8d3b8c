// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "model/error.h"

namespace ndlfs::fs {

// `ndlfs warm --decoded`: reads files of mounts that have --decoded-cache to their end, so that
// the mounts keep them, and waits until they do. `paths` are files, or folders with files.
// `threads` files are read at a time; 0: one a core. Writes a summary to standard output;
// progress, and files that were not kept, to standard error. The value is the exit status.
model::Result<int> WarmDecoded(const std::vector<std::string>& paths, unsigned threads);

}  // namespace ndlfs::fs
