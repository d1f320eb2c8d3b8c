// SPDX-License-Identifier: MIT
//
// NPY files: one array each. See npy_array.h for how the data are read.
#pragma once

#include "backends/format/hierarchy.h"

namespace ndlfs::backends {

const Format& NpyFormat();

// Whether a file that begins with `head` (1 KiB, or all of it) is one, whatever
// its name is.
bool BeginsAsNpy(ConstByteSpan head);

}  // namespace ndlfs::backends
