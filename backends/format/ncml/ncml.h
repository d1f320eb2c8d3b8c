// SPDX-License-Identifier: MIT
//
// NcML, the netCDF Markup Language (version 2.2), as stores: aggregations of other stores,
// which become the same as NDL documents with `x-source`.
#pragma once

#include "backends/format/format.h"

namespace ndlfs::backends {

// Files whose root element is <netcdf>; `.ncml` files whatever is in them.
const Format& NcmlFormat();

}  // namespace ndlfs::backends
