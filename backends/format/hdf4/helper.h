// SPDX-License-Identifier: MIT
//
// Asks libhdf4, in a process of its own for each question. A file can make the library crash,
// come to no end or take any memory; that is an error of this question, and the next one has a
// new process.
#pragma once

#include <string>

#include "backends/format/hdf4/description.h"
#include "backends/format/hdf4/skeleton.h"
#include "model/error.h"

namespace ndlfs::backends::hdf4 {

// Where the process finds the file.
inline constexpr int kHelperFile = 4;

// kUnsupported if there is no library, or if the kernel cannot keep it from other files;
// kCorrupt for what the library says, and if it crashes.
model::Result<FileInfo> AskForDescription(const Skeleton& skeleton);
// The elements in C order, little-endian. The skeleton has what the library needs to read them.
model::Result<Bytes> AskForElements(const Skeleton& skeleton, const BlockRequest& block);

}  // namespace ndlfs::backends::hdf4
