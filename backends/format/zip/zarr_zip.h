// SPDX-License-Identifier: MIT
//
// Zarr hierarchies in ZIP archives: at the root of the archive, or one folder down if the
// directory was zipped from its parent.
#pragma once

#include "backends/format/format.h"

namespace ndlfs::backends {

const Format& ZarrZipFormat();

}  // namespace ndlfs::backends
