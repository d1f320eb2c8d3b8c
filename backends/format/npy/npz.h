// SPDX-License-Identifier: MIT
//
// NPZ files: ZIP archives of NPY files.
#pragma once

#include "backends/format/format.h"

namespace ndlfs::backends {

// The member "g/a.npy" is the array "/g/a". As NumPy has it, a member without
// the extension is an array, too, if it begins as an NPY file does. Where both
// "a" and "a.npy" are there, or something in "a/", the latter is "/a.npy".
const Format& NpzFormat();

}  // namespace ndlfs::backends
