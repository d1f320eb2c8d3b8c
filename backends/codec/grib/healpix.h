// SPDX-License-Identifier: MIT
//
// The points of HEALPix (K. M. Gorski et al., The Astrophysical Journal 622:759, 2005): centres
// of pixels of the same area, in rings along latitudes, or in a quadtree within each of twelve
// rhomboids.
#pragma once

#include <cstdint>
#include <span>

namespace ndlfs::backends {

// Fills `out`, which has 12 * nside * nside elements, with latitudes, or longitudes in
// [0, 360). `nside` is 1 to 2^15; a power of two if `is_nested`.
void FillHealpixPoints(uint32_t nside, bool is_nested, bool is_latitude, std::span<double> out);

}  // namespace ndlfs::backends
