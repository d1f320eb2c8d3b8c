// SPDX-License-Identifier: MIT
//
// Zarr hierarchies in ZIP archives: at the root of the archive, or one folder
// down, where zipping the directory from its parent puts them.
#pragma once

#include "backends/format/format.h"

namespace ndlfs::backends {

const Format& ZarrZipFormat();

}  // namespace ndlfs::backends
