// SPDX-License-Identifier: MIT
#pragma once

#include "backends/format/format.h"

namespace ndlfs::backends {

// Kerchunk reference files (.json): Zarr hierarchies whose chunks are ranges of other
// files. See reference_store.h.
const Format& KerchunkFormat();

}  // namespace ndlfs::backends
