// SPDX-License-Identifier: MIT
//
// HDF5 files, and netCDF-4 files, which are HDF5 files with conventions.
#pragma once

#include "backends/format/format.h"

namespace ndlfs::backends {

const Format& Hdf5Format();

}  // namespace ndlfs::backends
