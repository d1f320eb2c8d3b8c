// SPDX-License-Identifier: MIT
//
// NPY files, which have one array each. npy_array.h reads the data.
#pragma once

#include "backends/format/format.h"

namespace ndlfs::backends {

const Format& NpyFormat();

}  // namespace ndlfs::backends
