// SPDX-License-Identifier: MIT
#include "backends/codec/grib/projection.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ndlfs::backends {
namespace {

constexpr double kQuarter = std::numbers::pi / 2;
constexpr int kIterations = 15;
constexpr double kCloseLatitudes = 1e-14;  // radians

// Degrees in (-180, 180].
double Wrap(double degrees) {
  const double wrapped = std::remainder(degrees, 360.0);
  return wrapped == -180 ? 180 : wrapped;
}

// The figure of the earth, and the functions of it that the projections share (Snyder's
// equations 3-12, 14-15, 15-9).
class Earth {
 public:
  explicit Earth(const GribGrid& grid) : major_(grid.major_axis), minor_(grid.minor_axis) {
    const double flat = 1 - minor_ / major_;
    square_ = std::max(0.0, flat * (2 - flat));
    e_ = std::sqrt(square_);
  }

  double major() const { return major_; }
  double M(double phi) const {
    const double s = std::sin(phi);
    return std::cos(phi) / std::sqrt(1 - square_ * s * s);
  }
  double T(double phi) const {
    const double s = e_ * std::sin(phi);
    return std::tan(kQuarter / 2 - phi / 2) / std::pow((1 - s) / (1 + s), e_ / 2);
  }
  double Q(double phi) const {
    const double s = std::sin(phi);
    if (e_ == 0) return 2 * s;
    return (1 - square_) *
           (s / (1 - square_ * s * s) - std::log((1 - e_ * s) / (1 + e_ * s)) / (2 * e_));
  }
  // The limit of M / T at the pole.
  double PolarScale() const {
    return 2 / std::sqrt(std::pow(1 + e_, 1 + e_) * std::pow(1 - e_, 1 - e_));
  }
  // The latitudes with these T and Q.
  double LatitudeOfT(double t) const {
    double phi = kQuarter - 2 * std::atan(t);
    for (int i = 0; e_ != 0 && i < kIterations; ++i) {
      const double s = e_ * std::sin(phi);
      const double next = kQuarter - 2 * std::atan(t * std::pow((1 - s) / (1 + s), e_ / 2));
      const bool is_close = std::abs(next - phi) < kCloseLatitudes;
      phi = next;
      if (is_close) break;
    }
    return phi;
  }
  double LatitudeOfQ(double q) const {
    if (e_ == 0) return std::asin(q / 2);
    const double pole = Q(kQuarter);
    if (std::abs(q) >= pole)
      return std::copysign(std::abs(q) > pole + 1e-9 ? NAN : kQuarter, q);
    double phi = std::asin(std::clamp(q / 2, -1.0, 1.0));
    for (int i = 0; i < kIterations; ++i) {
      const double s = std::sin(phi), c = std::cos(phi), f = 1 - square_ * s * s;
      if (c < 1e-12) break;
      phi += f * f / (2 * c) *
             (q / (1 - square_) - s / f + std::log((1 - e_ * s) / (1 + e_ * s)) / (2 * e_));
    }
    return phi;
  }

 private:
  double major_, minor_, square_ = 0, e_ = 0;
};

// Lambert conformal conic; polar stereographic is the case of a cone that is a plane.
class Conformal final : public GribProjection {
 public:
  explicit Conformal(const GribGrid& grid)
      : earth_(grid),
        is_polar_(grid.kind == GribGridKind::kPolarStereographic),
        sign_(is_polar_ && grid.is_south_pole_projected ? -1 : 1),
        centre_(grid.orientation_longitude),
        origin_(grid.standard_latitude),
        latin1_(grid.latin1),
        latin2_(grid.latin2) {
    if (is_polar_) {
      // The plane cuts the earth at a latitude, which may be the pole itself.
      const double phi = std::abs(origin_) * kGribDegree;
      n_ = 1;
      const double t = earth_.T(phi);
      f_ = t > 1e-9 ? earth_.M(phi) / t : earth_.PolarScale();
      rho0_ = 0;
      return;
    }
    const double phi1 = latin1_ * kGribDegree, phi2 = latin2_ * kGribDegree;
    n_ = std::abs(latin1_ - latin2_) < 1e-9
             ? std::sin(phi1)
             : (std::log(earth_.M(phi1)) - std::log(earth_.M(phi2))) /
                   (std::log(earth_.T(phi1)) - std::log(earth_.T(phi2)));
    f_ = earth_.M(phi1) / (n_ * std::pow(earth_.T(phi1), n_));
    rho0_ = earth_.major() * f_ * std::pow(earth_.T(origin_ * kGribDegree), n_);
  }

  GribMapPoint Forward(const GribPlace& place) const override {
    const double rho =
        earth_.major() * f_ * std::pow(earth_.T(sign_ * place.latitude * kGribDegree), n_);
    const double theta = n_ * sign_ * Wrap(place.longitude - centre_) * kGribDegree;
    return {sign_ * rho * std::sin(theta), sign_ * (rho0_ - rho * std::cos(theta))};
  }
  GribPlace Inverse(const GribMapPoint& point) const override {
    const double x = sign_ * point.x, y = rho0_ - sign_ * point.y;
    const double side = n_ < 0 ? -1 : 1;
    const double rho = side * std::hypot(x, y);
    const double theta = std::atan2(side * x, side * y);
    const double t = std::pow(rho / (earth_.major() * f_), 1 / n_);
    return {sign_ * earth_.LatitudeOfT(t) / kGribDegree,
            Wrap(centre_ + sign_ * theta / n_ / kGribDegree)};
  }

 private:
  const Earth earth_;
  const bool is_polar_;
  const double sign_, centre_, origin_, latin1_, latin2_;
  double n_ = 1, f_ = 1, rho0_ = 0;
};

class Mercator final : public GribProjection {
 public:
  explicit Mercator(const GribGrid& grid)
      : earth_(grid),
        parallel_(grid.standard_latitude),
        scale_(earth_.major() * earth_.M(parallel_ * kGribDegree)) {}

  GribMapPoint Forward(const GribPlace& place) const override {
    return {scale_ * Wrap(place.longitude) * kGribDegree,
            -scale_ * std::log(earth_.T(place.latitude * kGribDegree))};
  }
  GribPlace Inverse(const GribMapPoint& point) const override {
    return {earth_.LatitudeOfT(std::exp(-point.y / scale_)) / kGribDegree,
            Wrap(point.x / scale_ / kGribDegree)};
  }

 private:
  const Earth earth_;
  const double parallel_, scale_;
};

// Albers equal area conic (Snyder 14).
class Albers final : public GribProjection {
 public:
  explicit Albers(const GribGrid& grid)
      : earth_(grid),
        centre_(grid.orientation_longitude),
        origin_(grid.standard_latitude),
        latin1_(grid.latin1),
        latin2_(grid.latin2) {
    const double phi1 = latin1_ * kGribDegree, phi2 = latin2_ * kGribDegree;
    const double m1 = earth_.M(phi1), m2 = earth_.M(phi2);
    const double q1 = earth_.Q(phi1), q2 = earth_.Q(phi2);
    n_ = std::abs(latin1_ - latin2_) < 1e-9 ? std::sin(phi1) : (m1 * m1 - m2 * m2) / (q2 - q1);
    c_ = m1 * m1 + n_ * q1;
    rho0_ = Rho(earth_.Q(origin_ * kGribDegree));
  }

  GribMapPoint Forward(const GribPlace& place) const override {
    const double rho = Rho(earth_.Q(place.latitude * kGribDegree));
    const double theta = n_ * Wrap(place.longitude - centre_) * kGribDegree;
    return {rho * std::sin(theta), rho0_ - rho * std::cos(theta)};
  }
  GribPlace Inverse(const GribMapPoint& point) const override {
    const double side = n_ < 0 ? -1 : 1;
    const double y = rho0_ - point.y;
    const double rho = std::hypot(point.x, y);
    const double theta = std::atan2(side * point.x, side * y);
    const double scaled = rho * n_ / earth_.major();
    return {earth_.LatitudeOfQ((c_ - scaled * scaled) / n_) / kGribDegree,
            Wrap(centre_ + theta / n_ / kGribDegree)};
  }

 private:
  double Rho(double q) const {
    return earth_.major() * std::sqrt(std::max(0.0, c_ - n_ * q)) / n_;
  }

  const Earth earth_;
  const double centre_, origin_, latin1_, latin2_;
  double n_ = 1, c_ = 0, rho0_ = 0;
};

// Lambert azimuthal equal area (Snyder 24), through authalic latitudes.
class Azimuthal final : public GribProjection {
 public:
  explicit Azimuthal(const GribGrid& grid)
      : earth_(grid), centre_(grid.orientation_longitude), origin_(grid.standard_latitude) {
    pole_ = earth_.Q(kQuarter);
    radius_ = earth_.major() * std::sqrt(pole_ / 2);
    beta_ = std::asin(std::clamp(earth_.Q(origin_ * kGribDegree) / pole_, -1.0, 1.0));
    const bool is_pole = std::abs(std::abs(origin_) - 90) < 1e-9;
    d_ = is_pole
             ? 1
             : earth_.major() * earth_.M(origin_ * kGribDegree) / (radius_ * std::cos(beta_));
  }

  GribMapPoint Forward(const GribPlace& place) const override {
    const double beta =
        std::asin(std::clamp(earth_.Q(place.latitude * kGribDegree) / pole_, -1.0, 1.0));
    const double lambda = Wrap(place.longitude - centre_) * kGribDegree;
    const double b =
        radius_ * std::sqrt(2 / (1 + std::sin(beta_) * std::sin(beta) +
                                 std::cos(beta_) * std::cos(beta) * std::cos(lambda)));
    return {b * d_ * std::cos(beta) * std::sin(lambda),
            b / d_ *
                (std::cos(beta_) * std::sin(beta) -
                 std::sin(beta_) * std::cos(beta) * std::cos(lambda))};
  }
  GribPlace Inverse(const GribMapPoint& point) const override {
    const double x = point.x / d_, y = point.y * d_;
    const double rho = std::hypot(x, y);
    if (rho < 1e-9) return {origin_, Wrap(centre_)};
    if (rho > 2 * radius_) return {NAN, NAN};
    const double c = 2 * std::asin(rho / (2 * radius_));
    const double q =
        pole_ * (std::cos(c) * std::sin(beta_) + y * std::sin(c) * std::cos(beta_) / rho);
    const double lambda = std::atan2(x * std::sin(c), rho * std::cos(beta_) * std::cos(c) -
                                                          y * std::sin(beta_) * std::sin(c));
    return {earth_.LatitudeOfQ(q) / kGribDegree, Wrap(centre_ + lambda / kGribDegree)};
  }

 private:
  const Earth earth_;
  const double centre_, origin_;
  double pole_ = 2, radius_ = 1, beta_ = 0, d_ = 1;
};

// Latitudes and longitudes around another pole.
class RotatedPole final : public GribProjection {
 public:
  explicit RotatedPole(const GribGrid& grid)
      : earth_(grid),
        pole_latitude_(-grid.south_pole_latitude),
        pole_longitude_(Wrap(grid.south_pole_longitude + 180)),
        rotation_(grid.rotation) {}

  GribMapPoint Forward(const GribPlace& place) const override {
    const double phi = place.latitude * kGribDegree, pole = pole_latitude_ * kGribDegree;
    const double lambda = (place.longitude - pole_longitude_) * kGribDegree;
    const double latitude = std::asin(std::clamp(
        std::sin(phi) * std::sin(pole) + std::cos(phi) * std::cos(pole) * std::cos(lambda),
        -1.0, 1.0));
    const double longitude = std::atan2(
        -std::cos(phi) * std::sin(lambda),
        std::sin(phi) * std::cos(pole) - std::cos(phi) * std::sin(pole) * std::cos(lambda));
    return {Wrap(longitude / kGribDegree - rotation_), latitude / kGribDegree};
  }
  GribPlace Inverse(const GribMapPoint& point) const override {
    const double phi = point.y * kGribDegree, pole = pole_latitude_ * kGribDegree;
    const double lambda = (point.x + rotation_) * kGribDegree;
    const double latitude = std::asin(std::clamp(
        std::sin(phi) * std::sin(pole) + std::cos(phi) * std::cos(pole) * std::cos(lambda),
        -1.0, 1.0));
    const double longitude = std::atan2(
        -std::cos(phi) * std::sin(lambda),
        std::sin(phi) * std::cos(pole) - std::cos(phi) * std::sin(pole) * std::cos(lambda));
    return {latitude / kGribDegree, Wrap(pole_longitude_ + longitude / kGribDegree)};
  }

 private:
  const Earth earth_;
  const double pole_latitude_, pole_longitude_, rotation_;
};

// What a satellite above the equator sees, by the angles of its line of sight: x to the east,
// y to the north.
class SpaceView final : public GribProjection {
 public:
  explicit SpaceView(const GribGrid& grid)
      : distance_(grid.satellite_distance),
        stretch_(grid.major_axis / grid.minor_axis),
        centre_(grid.orientation_longitude) {}

  GribMapPoint Forward(const GribPlace& place) const override {
    const double square = stretch_ * stretch_;
    const double phi = std::atan(std::tan(place.latitude * kGribDegree) / square);
    const double lambda = Wrap(place.longitude - centre_) * kGribDegree;
    // The radius of the ellipsoid there, in units of the major axis.
    const double c = std::cos(phi);
    const double radius = 1 / std::sqrt(c * c + square * (1 - c * c));
    const double ahead = distance_ - radius * c * std::cos(lambda);
    const double east = radius * c * std::sin(lambda), north = radius * std::sin(phi);
    const bool is_behind =
        distance_ * (distance_ - ahead) < east * east + square * north * north;
    if (is_behind) return {NAN, NAN};
    return {std::atan2(east, ahead), std::asin(north / std::hypot(ahead, east, north))};
  }
  GribPlace Inverse(const GribMapPoint& point) const override {
    const double square = stretch_ * stretch_;
    const double sine = std::sin(point.y);
    const double across = std::cos(point.x) * std::cos(point.y);
    const double flat = 1 + (square - 1) * sine * sine;
    const double along = distance_ * across;
    const double root = along * along - flat * (distance_ * distance_ - 1);
    if (!(root > 0)) return {NAN, NAN};  // misses the earth
    const double away = (along - std::sqrt(root)) / flat;
    const double s1 = distance_ - away * across;
    const double s2 = away * std::sin(point.x) * std::cos(point.y);
    return {std::atan(square * away * sine / std::hypot(s1, s2)) / kGribDegree,
            Wrap(std::atan(s2 / s1) / kGribDegree + centre_)};
  }

 private:
  const double distance_;  // from the centre of the earth, in units of the major axis
  const double stretch_, centre_;
};

bool IsCone(double latin1, double latin2) {
  return std::abs(latin1) < 90 && std::abs(latin2) < 90 && std::abs(latin1 + latin2) > 1e-6;
}

bool IsEarth(const GribGrid& grid) {
  constexpr double kLeast = 1e3, kMost = 1e9;
  return grid.major_axis > kLeast && grid.major_axis < kMost && grid.minor_axis > kLeast &&
         grid.minor_axis <= grid.major_axis;
}

}  // namespace

std::shared_ptr<const GribProjection> MakeGribProjection(const GribGrid& grid) {
  if (!IsEarth(grid)) return nullptr;
  switch (grid.kind) {
    case GribGridKind::kLambert:
      if (!IsCone(grid.latin1, grid.latin2) || std::abs(grid.standard_latitude) > 90) break;
      return std::make_shared<Conformal>(grid);
    case GribGridKind::kPolarStereographic:
      if (std::abs(grid.standard_latitude) > 90) break;
      return std::make_shared<Conformal>(grid);
    case GribGridKind::kMercator:
      if (std::abs(grid.standard_latitude) >= 90) break;
      return std::make_shared<Mercator>(grid);
    case GribGridKind::kAlbers:
      if (!IsCone(grid.latin1, grid.latin2)) break;
      return std::make_shared<Albers>(grid);
    case GribGridKind::kLambertAzimuthal:
      return std::make_shared<Azimuthal>(grid);
    case GribGridKind::kRotatedLatLon:
    case GribGridKind::kRotatedGaussian:
      return std::make_shared<RotatedPole>(grid);
    case GribGridKind::kSpaceView:
      // Orthographic views, those from above another latitude, and pictures that are turned are
      // not known.
      if (!(grid.satellite_distance > 1) || grid.standard_latitude != 0 || grid.rotation != 0) {
        break;
      }
      return std::make_shared<SpaceView>(grid);
    default:
      break;
  }
  return nullptr;
}

std::optional<GribMap> MapOfGribGrid(const GribGrid& grid) {
  using Kind = GribGridKind;
  const bool is_transverse = grid.kind == Kind::kTransverseMercator;
  if (grid.ni == 0 || grid.nj == 0 || grid.has_offset_points() || !grid.di || !grid.dj ||
      grid.kind == Kind::kRotatedLatLon || grid.kind == Kind::kRotatedGaussian) {
    return std::nullopt;
  }
  GribMap map;
  map.projection = MakeGribProjection(grid);
  if (!map.projection && !is_transverse) return std::nullopt;
  // Mercator's cylinder may be turned; nobody does that.
  if (grid.kind == Kind::kMercator && grid.rotation != 0) return std::nullopt;
  map.dx = grid.i_negative() ? -*grid.di : *grid.di;
  map.dy = grid.j_positive() ? *grid.dj : -*grid.dj;
  map.x = grid.x1;
  map.y = grid.y1;
  if (map.projection && grid.kind != Kind::kSpaceView) {
    const auto first = map.projection->Forward({grid.first_latitude, grid.first_longitude});
    map.x = first.x;
    map.y = first.y;
  }
  if (!std::isfinite(map.x) || !std::isfinite(map.y)) return std::nullopt;
  return map;
}

}  // namespace ndlfs::backends
