// SPDX-License-Identifier: MIT
#include "backends/codec/grib/coordinates.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>

#include "backends/codec/grib/grid.h"
#include "backends/codec/grib/projection.h"

namespace ndlfs::backends {
namespace {

// The points of HEALPix (K. M. Gorski et al., The Astrophysical Journal 622:759, 2005): centres
// of pixels of the same area, in rings along latitudes, or in a quadtree within each of twelve
// rhomboids.

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

// Fills `out`, which has 12 * nside * nside elements, with latitudes, or longitudes in
// [0, 360). `nside` is 1 to 2^15; a power of two if `is_nested`.
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

// Gaussian grids of more rows are not in use; computing their latitudes takes the square of it.
constexpr uint32_t kMaxParallels = 4000;

bool IsGaussianKind(GribGridKind kind) {
  return kind == GribGridKind::kGaussian || kind == GribGridKind::kRotatedGaussian;
}
bool IsLatLonKind(GribGridKind kind) {
  return kind == GribGridKind::kLatLon || kind == GribGridKind::kRotatedLatLon;
}

// The positive zeros of the Legendre polynomial of degree 2 * `parallels` as latitudes, from
// the pole to the equator.
std::vector<double> GaussianLatitudes(uint32_t parallels) {
  const uint32_t degree = 2 * parallels;
  std::vector<double> latitudes(parallels);
  for (uint32_t k = 0; k < parallels; ++k) {
    double x = std::cos(std::numbers::pi * (k + 0.75) / (degree + 0.5));
    for (int step = 0; step < 10; ++step) {
      double before = 1, value = x;
      for (uint32_t n = 2; n <= degree; ++n) {
        const double next = ((2.0 * n - 1) * x * value - (n - 1.0) * before) / n;
        before = value;
        value = next;
      }
      const double slope = degree * (x * value - before) / (x * x - 1);
      const double change = value / slope;
      x -= change;
      if (std::abs(change) < 1e-15) break;
    }
    latitudes[k] = std::asin(x) / kGribDegree;
  }
  return latitudes;
}

model::Result<std::vector<double>> GaussianAxis(const GribGrid& grid) {
  const uint32_t parallels = grid.parallels;
  if (parallels == 0 || parallels > kMaxParallels) {
    return model::Unsupported("a Gaussian grid of {} parallels", parallels);
  }
  std::vector<double> all = GaussianLatitudes(parallels);
  for (uint32_t k = parallels; k-- > 0;) all.push_back(-all[k]);
  const bool goes_north = grid.last_latitude > grid.first_latitude ||
                          (grid.last_latitude == grid.first_latitude && grid.j_positive());
  if (goes_north) std::reverse(all.begin(), all.end());
  const auto distance = [&grid](double latitude) {
    return std::abs(latitude - grid.first_latitude);
  };
  const auto first = std::min_element(
      all.begin(), all.end(), [&](double a, double b) { return distance(a) < distance(b); });
  const double tolerance = 90.0 / parallels / 2;
  if (distance(*first) > tolerance || static_cast<uint64_t>(all.end() - first) < grid.nj) {
    return model::Corrupt("a Gaussian grid of {} rows from latitude {} on, with {} parallels",
                          grid.nj, grid.first_latitude, parallels);
  }
  return std::vector<double>(first, first + static_cast<ptrdiff_t>(grid.nj));
}

// Evenly from the first to the last one.
std::vector<double> EvenAxis(double first, double last, uint64_t count) {
  std::vector<double> axis(count, first);
  const double step = count > 1 ? (last - first) / static_cast<double>(count - 1) : 0;
  for (uint64_t i = 1; i < count; ++i) axis[i] = first + static_cast<double>(i) * step;
  return axis;
}

double Wrapped(double longitude) {
  const double wrapped = std::fmod(longitude, 360.0);
  return wrapped < 0 ? wrapped + 360 : wrapped;
}

// Longitudes of `count` points from the first longitude on, which go to the last one. The
// increment says how often that goes around.
std::vector<double> LongitudeAxis(const GribGrid& grid, uint64_t count) {
  double span = grid.last_longitude - grid.first_longitude;
  if (grid.i_negative()) span = -span;
  if (span < 0) span = Wrapped(span);
  const auto steps = static_cast<double>(count - 1);
  // Files whose last longitude is wrong are many more than those with a wrong increment.
  if (grid.di && count > 1 && *grid.di > 0 &&
      std::abs(*grid.di * steps - span) > *grid.di / 4) {
    span = *grid.di * steps;
  }
  if (grid.i_negative()) span = -span;
  double first = grid.first_longitude;
  if (count > 1 && first + span * (steps - 1) / steps > 360) first -= 360;
  return EvenAxis(first, first + span, count);
}

model::Result<std::vector<double>> LatitudeAxis(const GribGrid& grid) {
  if (IsGaussianKind(grid.kind)) return GaussianAxis(grid);
  if (!grid.dj || *grid.dj <= 0) {
    return EvenAxis(grid.first_latitude, grid.last_latitude, grid.nj);
  }
  // As eccodes has it, although the increment is rounded more than the last latitude.
  const double span = *grid.dj * static_cast<double>(grid.nj - 1);
  const double last = grid.first_latitude + (grid.j_positive() ? span : -span);
  std::vector<double> axis = EvenAxis(grid.first_latitude, last, grid.nj);
  if (axis.size() > 1) axis.back() = grid.last_latitude;
  return axis;
}

bool IsRotatedKind(GribGridKind kind) {
  return kind == GribGridKind::kRotatedLatLon || kind == GribGridKind::kRotatedGaussian;
}

model::Failure NoCoordinates(const GribGrid& grid) {
  return model::Unsupported("coordinates of the grid {} of edition {}{}", grid.template_number,
                            grid.edition, grid.ni != 0 ? " with these parameters" : "");
}

double CoordinateOf(const GribPlace& place, GribCoordinate coordinate) {
  return coordinate == GribCoordinate::kLatitude ? place.latitude : place.longitude;
}

void ProjectedPoints(const GribGrid& grid, const GribMap& map, GribCoordinate coordinate,
                     std::span<double> out) {
  size_t at = 0;
  for (uint64_t row = 0; row < grid.nj; ++row) {
    for (uint64_t column = 0; column < grid.ni; ++column) {
      GribPlace place = map.projection->Inverse(map.At(column, row));
      place.longitude = Wrapped(place.longitude);
      out[at++] = CoordinateOf(place, coordinate);
    }
  }
}

double SpanOf(const GribGrid& grid) {
  const double span = grid.last_longitude - grid.first_longitude;
  return span < 0 ? Wrapped(span) : span;
}

// Whether the rows of a reduced grid go around the earth.
bool GoesAround(const GribGrid& grid) {
  const uint64_t most = *std::max_element(grid.row_points.begin(), grid.row_points.end());
  return most != 0 && SpanOf(grid) + 1.5 * 360.0 / static_cast<double>(most) > 360;
}

// Fills `axis` with the longitudes of a row of a reduced grid, which goes around the earth if
// `is_circle`.
void ReducedLongitudes(const GribGrid& grid, bool is_circle, uint64_t row,
                       std::vector<double>& axis) {
  const uint64_t count = grid.row_points[row];
  axis.resize(count);
  double first = grid.first_longitude;
  double step = 360.0 / static_cast<double>(count);
  if (!grid.circle_points.empty()) {
    const uint32_t circle = grid.circle_points[row];
    step = 360.0 / circle;
    first = 360.0 * static_cast<double>(CutGribRow(grid, circle).first) / circle;
    // As in eccodes, where these go on from 0 to 360.
    if (grid.first_longitude < 0) first += 360;
  } else if (!is_circle) {
    step = count > 1 ? SpanOf(grid) / static_cast<double>(count - 1) : 0;
  }
  for (uint64_t i = 0; i < count; ++i) axis[i] = first + static_cast<double>(i) * step;
}

// Whether the points of each row of a reduced grid are known: those of a part of a Gaussian
// grid are multiples of a step that some messages do not have.
bool HasKnownRows(const GribGrid& grid) {
  return IsLatLonKind(grid.kind) || !grid.circle_points.empty() || GoesAround(grid);
}

}  // namespace

bool HasGribAxes(const GribGrid& grid) {
  return !grid.is_reduced() && grid.ni != 0 && grid.nj != 0 &&
         (grid.kind == GribGridKind::kLatLon || grid.kind == GribGridKind::kGaussian);
}

model::Result<std::vector<double>> GribAxis(const GribGrid& grid, GribCoordinate coordinate) {
  const bool has_rows =
      grid.kind == GribGridKind::kLatLon || grid.kind == GribGridKind::kGaussian;
  const bool is_latitude = coordinate == GribCoordinate::kLatitude;
  if (!HasGribAxes(grid) && !(has_rows && is_latitude && grid.nj != 0))
    return NoCoordinates(grid);
  if (grid.has_offset_points()) return model::Unsupported("a grid of points between points");
  return is_latitude ? LatitudeAxis(grid) : LongitudeAxis(grid, grid.ni);
}

model::Result<void> GribPoints(const GribGrid& grid, GribCoordinate coordinate,
                               std::span<double> out) {
  if (out.size() != grid.points) return model::Internal("{} points", out.size());
  if (grid.has_offset_points()) return model::Unsupported("a grid of points between points");
  if (grid.kind == GribGridKind::kHealpix && grid.nside != 0) {
    FillHealpixPoints(grid.nside, grid.is_nested, coordinate == GribCoordinate::kLatitude, out);
    return {};
  }
  if (!IsLatLonKind(grid.kind) && !IsGaussianKind(grid.kind)) {
    const auto map = MapOfGribGrid(grid);
    if (!map || !map->projection) return NoCoordinates(grid);
    ProjectedPoints(grid, *map, coordinate, out);
    return {};
  }
  if (grid.nj == 0) return NoCoordinates(grid);
  if (grid.is_reduced() && !HasKnownRows(grid)) {
    return model::Unsupported("coordinates of a part of a reduced grid");
  }
  NDLFS_TRY(const std::vector<double> latitudes, LatitudeAxis(grid));
  std::vector<double> longitudes;
  if (!grid.is_reduced()) longitudes = LongitudeAxis(grid, grid.ni);
  const bool is_circle = grid.is_reduced() && GoesAround(grid);
  const auto rotation = IsRotatedKind(grid.kind) ? MakeGribProjection(grid) : nullptr;
  size_t at = 0;
  for (uint64_t row = 0; row < grid.nj; ++row) {
    if (grid.is_reduced()) ReducedLongitudes(grid, is_circle, row, longitudes);
    for (const double longitude : longitudes) {
      GribPlace place{latitudes[row], longitude};
      if (rotation) place = rotation->Inverse({longitude, latitudes[row]});
      out[at++] = CoordinateOf(place, coordinate);
    }
  }
  return {};
}

bool HasGribPoints(const GribGrid& grid) {
  if (grid.has_offset_points()) return false;
  if (grid.kind == GribGridKind::kHealpix) return grid.nside != 0;
  if (!IsLatLonKind(grid.kind) && !IsGaussianKind(grid.kind)) {
    const auto map = MapOfGribGrid(grid);
    return map && map->projection;
  }
  return grid.nj != 0 && (!grid.is_reduced() || HasKnownRows(grid));
}

}  // namespace ndlfs::backends
