// SPDX-License-Identifier: MIT
//
// NPY files, which have one array each. npy_array.h reads the data.
#pragma once

#include "backends/format/format.h"

namespace ndlfs::backends {

const Format& NpyFormat();

// NPZ files: ZIP archives of NPY files. The member "g/a.npy" is the array "/g/a". Like in
// NumPy, a member without the extension is an array, too, if it begins like an NPY file. If
// there is also a member "a" or "a/...", the member "a.npy" is "/a.npy".
const Format& NpzFormat();

}  // namespace ndlfs::backends
