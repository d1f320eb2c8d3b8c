// SPDX-License-Identifier: MIT
//
// NPZ files: ZIP archives of NPY files.
#pragma once

#include "backends/format/hierarchy.h"

namespace ndlfs::backends {

// The member "g/a.npy" is the array "/g/a". As NumPy has it, a member without
// the extension is an array, too, if it begins as an NPY file does. Where both
// "a" and "a.npy" are there, or something in "a/", the latter is "/a.npy".
const Format& NpzFormat();

// Whether a file that begins with `head` (1 KiB, or all of it) may be one, whatever
// its name is: ConfirmFile() tells.
bool BeginsAsNpz(ConstByteSpan head);

}  // namespace ndlfs::backends
