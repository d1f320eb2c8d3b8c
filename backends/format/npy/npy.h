// SPDX-License-Identifier: MIT
//
// NPY files, which have one array each. npy_array.h reads the data.
#pragma once

#include "backends/format/hierarchy.h"

namespace ndlfs::backends {

const Format& NpyFormat();

// Whether a file that begins with `head` (1 KiB, or all of it) is one, whatever
// its name is.
bool BeginsAsNpy(ConstByteSpan head);

}  // namespace ndlfs::backends
