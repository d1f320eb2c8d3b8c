// SPDX-License-Identifier: MIT
#pragma once

#include "backends/format/format.h"

namespace ndlfs::backends {

// TIFF 6.0 and BigTIFF, with what GeoTIFF, GDAL and ImageJ put into them.
const Format& TiffFormat();

}  // namespace ndlfs::backends
