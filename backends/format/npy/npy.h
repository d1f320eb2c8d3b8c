// SPDX-License-Identifier: MIT
//
// NPY files: one array each. See npy_array.h for how the data are read.
#pragma once

#include "backends/format/format.h"

namespace ndlfs::backends {

const Format& NpyFormat();

}  // namespace ndlfs::backends
