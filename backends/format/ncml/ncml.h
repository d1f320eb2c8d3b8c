// SPDX-License-Identifier: MIT
//
// NcML, the netCDF Markup Language (version 2.2), as stores: aggregations of other stores,
// which are read like NDL documents with `x-source`.
#pragma once

#include "backends/format/format.h"

namespace ndlfs::backends {

// Recognizes files whose root element is <netcdf>, and `.ncml` files whatever their contents
// are.
const Format& NcmlFormat();

}  // namespace ndlfs::backends
