// SPDX-License-Identifier: MIT
#pragma once

#include "backends/format/format.h"

namespace ndlfs::backends {

// Files of GRIB messages (WMO FM 92, edition 1 and 2): .grib, .grib2, .grb, and by content. A
// store has a group for each type of level and kind of step, /isobaricInhPa/instant, and in it
// an array for each parameter. Only headers are read. Where each look is a request, the files
// FILE.idx and .index tell where messages are.
const Format& GribFormat();

}  // namespace ndlfs::backends
