// SPDX-License-Identifier: MIT
//
// HDF4: scientific data sets and raster images, in groups (Vgroup), with the places of
// HDF-EOS2 grids. libhdf4 describes a file, in a process of its own.
#pragma once

#include <string>
#include <vector>

#include "backends/format/format.h"

namespace ndlfs::backends {

const Format& Hdf4Format();

// From now on, asks libhdf4 about files. `command` starts the process for that; its main() has
// to return RunHdf4Helper(). Without it, no file can be opened.
void UseHdf4Helper(std::vector<std::string> command);
int RunHdf4Helper();

}  // namespace ndlfs::backends
