// SPDX-License-Identifier: MIT
//
// Formulas of projections: J. P. Snyder, Map Projections: A Working Manual (USGS 1395).
#include "backends/codec/grib/coordinates.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ndlfs::backends {
namespace {

constexpr double kRadian = std::numbers::pi / 180;
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
    latitudes[k] = std::asin(x) / kRadian;
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

struct Place {
  double latitude = 0, longitude = 0;  // degrees
};

// From coordinates of a sphere that is turned to geographic ones.
class Rotation {
 public:
  explicit Rotation(const GribGrid& grid)
      : tilt_((90 + grid.south_pole_latitude) * kRadian),
        pole_longitude_(grid.south_pole_longitude),
        angle_(grid.rotation) {}

  Place Undo(Place place) const {
    const double latitude = place.latitude * kRadian;
    const double longitude = (place.longitude - angle_) * kRadian;
    const double x = std::cos(latitude) * std::cos(longitude);
    const double y = std::cos(latitude) * std::sin(longitude);
    const double z = std::sin(latitude);
    const double turned_x = std::cos(tilt_) * x - std::sin(tilt_) * z;
    const double turned_z = std::sin(tilt_) * x + std::cos(tilt_) * z;
    return {std::asin(std::clamp(turned_z, -1.0, 1.0)) / kRadian,
            Wrapped(std::atan2(y, turned_x) / kRadian + pole_longitude_ + 180) - 180};
  }

 private:
  const double tilt_, pole_longitude_, angle_;
};

// Conformal projections of an ellipsoid: a cone of constant `n`, which is 1 or -1 at a pole and
// 0 for Mercator's cylinder.
class Projection {
 public:
  explicit Projection(const GribGrid& grid) : radius_(grid.major_axis) {
    const double ratio = grid.minor_axis / grid.major_axis;
    e_ = std::sqrt(std::max(0.0, 1 - ratio * ratio));
    if (grid.kind == GribGridKind::kMercator) {
      factor_ = M(grid.standard_latitude * kRadian);
      return;
    }
    central_ = grid.orientation_longitude;
    if (grid.kind == GribGridKind::kPolarStereographic) {
      SetPole(grid);
    } else {
      SetCone(grid.latin1 * kRadian, grid.latin2 * kRadian);
    }
  }

  bool is_valid() const { return std::isfinite(n_) && std::isfinite(factor_) && factor_ != 0; }

  // Metres.
  struct Plane {
    double x = 0, y = 0;
  };
  Plane Forward(Place place) const {
    double difference = Wrapped(place.longitude - central_);
    if (difference > 180 && n_ != 0) difference -= 360;
    const double t = T(place.latitude * kRadian);
    if (n_ == 0) {
      return {radius_ * factor_ * difference * kRadian, -radius_ * factor_ * std::log(t)};
    }
    const double rho = radius_ * factor_ * std::pow(t, n_);
    const double theta = n_ * difference * kRadian;
    return {rho * std::sin(theta), origin_ - rho * std::cos(theta)};
  }
  Place Inverse(Plane plane) const {
    if (n_ == 0) {
      return {Latitude(std::exp(-plane.y / (radius_ * factor_))) / kRadian,
              Wrapped(plane.x / (radius_ * factor_) / kRadian + central_)};
    }
    const double sign = n_ < 0 ? -1 : 1, down = origin_ - plane.y;
    const double rho = sign * std::hypot(plane.x, down);
    const double theta = std::atan2(sign * plane.x, sign * down);
    return {Latitude(std::pow(rho / (radius_ * factor_), 1 / n_)) / kRadian,
            Wrapped(theta / n_ / kRadian + central_)};
  }

 private:
  double M(double latitude) const {
    const double sine = e_ * std::sin(latitude);
    return std::cos(latitude) / std::sqrt(1 - sine * sine);
  }
  double T(double latitude) const {
    const double sine = e_ * std::sin(latitude);
    return std::tan(std::numbers::pi / 4 - latitude / 2) /
           std::pow((1 - sine) / (1 + sine), e_ / 2);
  }
  double Latitude(double t) const {
    double latitude = std::numbers::pi / 2 - 2 * std::atan(t);
    for (int step = 0; step < 15 && e_ != 0; ++step) {
      const double sine = e_ * std::sin(latitude);
      const double next =
          std::numbers::pi / 2 - 2 * std::atan(t * std::pow((1 - sine) / (1 + sine), e_ / 2));
      const bool is_close = std::abs(next - latitude) < 1e-14;
      latitude = next;
      if (is_close) break;
    }
    return latitude;
  }

  void SetPole(const GribGrid& grid) {
    n_ = grid.is_south_pole_projected ? -1 : 1;
    const double standard = std::abs(grid.standard_latitude) * kRadian;
    if (std::abs(standard - std::numbers::pi / 2) < 1e-9) {
      factor_ = 2 / std::sqrt(std::pow(1 + e_, 1 + e_) * std::pow(1 - e_, 1 - e_));
    } else {
      factor_ = M(standard) / T(standard);
    }
    factor_ *= n_;
  }

  void SetCone(double first, double second) {
    n_ = std::abs(first - second) < 1e-10 ? std::sin(first)
                                          : (std::log(M(first)) - std::log(M(second))) /
                                                (std::log(T(first)) - std::log(T(second)));
    factor_ = M(first) / (n_ * std::pow(T(first), n_));
    origin_ = radius_ * factor_ * std::pow(T(first), n_);
  }

  const double radius_;
  double e_ = 0, n_ = 0, factor_ = 1, central_ = 0, origin_ = 0;
};

bool IsProjectedKind(GribGridKind kind) {
  return kind == GribGridKind::kMercator || kind == GribGridKind::kPolarStereographic ||
         kind == GribGridKind::kLambert;
}

model::Failure NoCoordinates(const GribGrid& grid) {
  return model::Unsupported("coordinates of the grid {} of edition {}", grid.template_number,
                            grid.edition);
}

model::Result<void> ProjectedPoints(const GribGrid& grid, GribCoordinate coordinate,
                                    std::span<double> out) {
  const Projection projection(grid);
  NDLFS_TRY(const auto x, GribProjectedAxis(grid, GribCoordinate::kLongitude));
  NDLFS_TRY(const auto y, GribProjectedAxis(grid, GribCoordinate::kLatitude));
  size_t at = 0;
  for (const double row : y) {
    for (const double column : x) {
      const Place place = projection.Inverse({column, row});
      out[at++] = coordinate == GribCoordinate::kLatitude ? place.latitude : place.longitude;
    }
  }
  return {};
}

// The longitudes of a row of a reduced grid. A whole circle is divided evenly.
std::vector<double> ReducedLongitudes(const GribGrid& grid, uint64_t row) {
  const uint64_t count = grid.row_points[row];
  const uint64_t most = *std::max_element(grid.row_points.begin(), grid.row_points.end());
  double span = grid.last_longitude - grid.first_longitude;
  if (span < 0) span = Wrapped(span);
  const bool is_circle = span + 1.5 * 360.0 / static_cast<double>(most) > 360;
  if (!is_circle) return EvenAxis(grid.first_longitude, grid.first_longitude + span, count);
  std::vector<double> axis(count);
  for (uint64_t i = 0; i < count; ++i) {
    axis[i] =
        grid.first_longitude + 360.0 * static_cast<double>(i) / static_cast<double>(count);
  }
  return axis;
}

// Whether the points of each row of a reduced grid are known: those of a part of the globe are
// multiples of a step that the message does not have.
bool HasKnownRows(const GribGrid& grid) {
  const uint64_t most = *std::max_element(grid.row_points.begin(), grid.row_points.end());
  double span = grid.last_longitude - grid.first_longitude;
  if (span < 0) span = Wrapped(span);
  return most != 0 && span + 1.5 * 360.0 / static_cast<double>(most) > 360;
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

model::Result<std::vector<double>> GribProjectedAxis(const GribGrid& grid,
                                                     GribCoordinate coordinate) {
  if (!IsProjectedKind(grid.kind) || grid.ni == 0) return NoCoordinates(grid);
  if (grid.has_offset_points()) return model::Unsupported("a grid of points between points");
  const Projection projection(grid);
  const auto first = projection.Forward({grid.first_latitude, grid.first_longitude});
  if (!projection.is_valid() || !std::isfinite(first.x) || !std::isfinite(first.y) ||
      !grid.di || !grid.dj || grid.rotation != 0) {
    return model::Unsupported("a projection with these parameters");
  }
  const bool is_y = coordinate == GribCoordinate::kLatitude;
  const double step = is_y ? (grid.j_positive() ? *grid.dj : -*grid.dj)
                           : (grid.i_negative() ? -*grid.di : *grid.di);
  std::vector<double> axis(is_y ? grid.nj : grid.ni);
  for (size_t i = 0; i < axis.size(); ++i) {
    axis[i] = (is_y ? first.y : first.x) + static_cast<double>(i) * step;
  }
  return axis;
}

model::Result<void> GribPoints(const GribGrid& grid, GribCoordinate coordinate,
                               std::span<double> out) {
  if (out.size() != grid.points) return model::Internal("{} points", out.size());
  if (IsProjectedKind(grid.kind)) return ProjectedPoints(grid, coordinate, out);
  const bool is_known = IsLatLonKind(grid.kind) || IsGaussianKind(grid.kind);
  if (!is_known || grid.nj == 0) return NoCoordinates(grid);
  if (grid.has_offset_points()) return model::Unsupported("a grid of points between points");
  if (grid.is_reduced() && !HasKnownRows(grid)) {
    return model::Unsupported("coordinates of a part of a reduced grid");
  }
  const bool is_rotated =
      grid.kind == GribGridKind::kRotatedLatLon || grid.kind == GribGridKind::kRotatedGaussian;
  NDLFS_TRY(const std::vector<double> latitudes, LatitudeAxis(grid));
  std::vector<double> longitudes;
  if (!grid.is_reduced()) longitudes = LongitudeAxis(grid, grid.ni);
  const Rotation rotation(grid);
  size_t at = 0;
  for (uint64_t row = 0; row < grid.nj; ++row) {
    if (grid.is_reduced()) longitudes = ReducedLongitudes(grid, row);
    for (const double longitude : longitudes) {
      Place place{latitudes[row], longitude};
      if (is_rotated) place = rotation.Undo(place);
      out[at++] = coordinate == GribCoordinate::kLatitude ? place.latitude : place.longitude;
    }
  }
  return {};
}

bool HasGribPoints(const GribGrid& grid) {
  if (IsProjectedKind(grid.kind)) return grid.ni != 0;
  const bool is_known = IsLatLonKind(grid.kind) || IsGaussianKind(grid.kind);
  return is_known && grid.nj != 0 && !grid.has_offset_points() &&
         (!grid.is_reduced() || HasKnownRows(grid));
}

}  // namespace ndlfs::backends
