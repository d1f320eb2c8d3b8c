// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "fs/view/place/geometry.h"

namespace ndlfs::fs {

// GeoTIFF 1.1: the model, and the system by its code or by its parameters.
struct GeoKeys {
  std::vector<uint16_t> shorts;  // of the directory
  std::vector<double> doubles;
};

// Empty if GeoTIFF has no word for the system.
GeoKeys MakeGeoKeys(const MapPlace& place);

}  // namespace ndlfs::fs
