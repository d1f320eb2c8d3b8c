// SPDX-License-Identifier: MIT
#include "backends/codec/grib/healpix.h"

#include <algorithm>
#include <cmath>

#include "backends/codec/grib/projection.h"

namespace ndlfs::backends {
namespace {

// A ring, counted from 1 at the north pole to 4 * nside - 1.
struct HealpixRing {
  double latitude = 0;
  uint64_t points = 0;
  bool is_shifted = false;  // the first point is half a step east of the meridian 0

  double Longitude(uint64_t i) const {
    return 360 * (static_cast<double>(i) + (is_shifted ? 0.5 : 0)) /
           static_cast<double>(points);
  }
};

HealpixRing RingOf(uint32_t nside, uint64_t number) {
  const bool is_south = number > uint64_t{2} * nside;
  const uint64_t from_pole = is_south ? uint64_t{4} * nside - number : number;
  const auto n = static_cast<double>(nside), r = static_cast<double>(from_pole);
  HealpixRing ring;
  const bool is_cap = from_pole < nside;
  const double z = is_cap ? 1 - r * r / (3 * n * n) : (4 * n - 2 * r) / (3 * n);
  ring.latitude = 90 - std::acos(z) / kGribDegree;
  if (from_pole == uint64_t{2} * nside) ring.latitude = 0;
  if (is_south) ring.latitude = -ring.latitude;
  ring.points = is_cap ? 4 * from_pole : uint64_t{4} * nside;
  ring.is_shifted = is_cap || (number - nside) % 2 == 0;
  return ring;
}

// Every other bit of `bits`, from the lowest on.
uint64_t EveryOtherBit(uint64_t bits) {
  uint64_t packed = 0;
  for (unsigned i = 0; i < 32; ++i) packed |= (bits >> 2 * i & 1) << i;
  return packed;
}

// The point of a number in nested order: which ring, and where in it.
struct HealpixPlace {
  uint64_t ring = 0, in_ring = 0;
};
HealpixPlace PlaceOfNested(uint32_t nside, uint64_t number) {
  // Rows of rhomboids around the pole, the equator and the other pole: where their southern
  // corners are, in rings and in eighths of a circle.
  constexpr uint64_t kCornerRing[] = {2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4};
  constexpr int64_t kCornerEighth[] = {1, 3, 5, 7, 0, 2, 4, 6, 1, 3, 5, 7};
  const uint64_t in_face = number % (uint64_t{nside} * nside);
  const uint64_t face = number / (uint64_t{nside} * nside);
  // Steps from the southern corner to the north east and to the north west.
  const auto east = static_cast<int64_t>(EveryOtherBit(in_face));
  const auto west = static_cast<int64_t>(EveryOtherBit(in_face >> 1));
  const int64_t side = nside;
  const int64_t ring = static_cast<int64_t>(kCornerRing[face]) * side - east - west - 1;
  const int64_t from_pole = ring > 3 * side ? 4 * side - ring : ring;
  const int64_t quarter = std::min(from_pole, side);  // points of a quarter of the ring
  // Twice the place in the ring, of which each quarter of the earth has 2 * quarter.
  const int64_t is_shifted = from_pole < side || (ring - side) % 2 == 0 ? 1 : 0;
  int64_t twice = kCornerEighth[face] * quarter + east - west - is_shifted;
  if (twice < 0) twice += 8 * quarter;
  return {static_cast<uint64_t>(ring), static_cast<uint64_t>(twice / 2 % (4 * quarter))};
}

}  // namespace

void FillHealpixPoints(uint32_t nside, bool is_nested, bool is_latitude,
                       std::span<double> out) {
  if (is_nested) {
    for (uint64_t i = 0; i < out.size(); ++i) {
      const HealpixPlace place = PlaceOfNested(nside, i);
      const HealpixRing ring = RingOf(nside, place.ring);
      out[i] = is_latitude ? ring.latitude : ring.Longitude(place.in_ring);
    }
    return;
  }
  size_t at = 0;
  for (uint64_t number = 1; number < uint64_t{4} * nside; ++number) {
    const HealpixRing ring = RingOf(nside, number);
    for (uint64_t i = 0; i < ring.points; ++i) {
      out[at++] = is_latitude ? ring.latitude : ring.Longitude(i);
    }
  }
}

}  // namespace ndlfs::backends
