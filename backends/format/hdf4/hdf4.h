// SPDX-License-Identifier: MIT
//
// HDF4: scientific data sets and raster images, in groups (Vgroup), with the places of
// HDF-EOS2 grids.
#pragma once

#include "backends/format/format.h"

namespace ndlfs::backends {

const Format& Hdf4Format();

}  // namespace ndlfs::backends
