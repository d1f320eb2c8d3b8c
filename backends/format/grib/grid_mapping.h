// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "backends/codec/grib/message.h"
#include "model/entities.h"

namespace ndlfs::backends::grib {

// The attributes of a grid mapping variable of CF. Empty for grids along latitudes and
// longitudes, and for those that CF has no name for.
std::vector<model::Attribute> GridMappingOf(const GribGrid& grid);

}  // namespace ndlfs::backends::grib
