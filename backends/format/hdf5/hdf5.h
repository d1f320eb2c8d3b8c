// SPDX-License-Identifier: MIT
//
// HDF5 files, and netCDF-4 files, which are HDF5 files with conventions.
#pragma once

#include <string>
#include <vector>

#include "backends/format/format.h"

namespace ndlfs::backends {

const Format& Hdf5Format();

// Runs libhdf5 in a process of its own from now on, so that a file that makes it crash or hang
// does no harm. `command` starts that process; its main() has to return RunHdf5Helper().
void UseHdf5Helper(std::vector<std::string> command);
int RunHdf5Helper();

}  // namespace ndlfs::backends
