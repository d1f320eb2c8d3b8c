// SPDX-License-Identifier: MIT
//
// DMR++ documents, the sidecars of HDF5 and HDF4 files that OPeNDAP's Hyrax server reads: a
// DAP4 DMR in XML, with the place in the file of each chunk of each array. NASA's archives
// have "x.nc.dmrpp" next to "x.nc". See README.md in this folder.
#pragma once

#include "backends/format/format.h"

namespace ndlfs::backends {

const Format& DmrppFormat();

}  // namespace ndlfs::backends
