// SPDX-License-Identifier: MIT
#include "backends/format/grib/projection.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "model/attributes.h"

namespace ndlfs::backends::grib {
namespace {

constexpr double kRadian = std::numbers::pi / 180;
constexpr double kQuarter = std::numbers::pi / 2;
constexpr int kIterations = 15;

// Degrees in (-180, 180].
double Wrap(double degrees) {
  const double wrapped = std::remainder(degrees, 360.0);
  return wrapped == -180 ? 180 : wrapped;
}

model::Attribute Number(const char* name, double value) {
  return {name, model::Datatype::Float64(), {}, value, {}};
}

model::Attribute StandardParallels(double first, double second) {
  model::Attribute parallels = Number("standard_parallel", first);
  if (first != second) {
    parallels.shape = {2};
    parallels.value = model::Value::List{first, second};
  }
  return parallels;
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
  // The latitudes with these T and Q.
  double LatitudeOfT(double t) const {
    double phi = kQuarter - 2 * std::atan(t);
    for (int i = 0; e_ != 0 && i < kIterations; ++i) {
      const double s = e_ * std::sin(phi);
      phi = kQuarter - 2 * std::atan(t * std::pow((1 - s) / (1 + s), e_ / 2));
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
  void Describe(std::vector<model::Attribute>& attributes) const {
    if (major_ == minor_) {
      attributes.push_back(Number("earth_radius", major_));
    } else {
      attributes.push_back(Number("semi_major_axis", major_));
      attributes.push_back(Number("semi_minor_axis", minor_));
    }
  }

 private:
  double major_, minor_, square_ = 0, e_ = 0;
};

std::vector<model::Attribute> MappingOf(const char* name, const Earth& earth,
                                        std::vector<model::Attribute> more) {
  std::vector<model::Attribute> attributes = {
      model::MakeTextAttribute("grid_mapping_name", name)};
  earth.Describe(attributes);
  attributes.insert(attributes.end(), more.begin(), more.end());
  return attributes;
}

// Lambert conformal conic; polar stereographic is the case of a cone that is a plane.
class Conformal final : public Projection {
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
      const double phi = std::abs(origin_) * kRadian;
      n_ = 1;
      const double t = earth_.T(phi);
      f_ = t > 1e-9 ? earth_.M(phi) / t : PolarScale();
      rho0_ = 0;
      return;
    }
    const double phi1 = latin1_ * kRadian, phi2 = latin2_ * kRadian;
    n_ = std::abs(latin1_ - latin2_) < 1e-9
             ? std::sin(phi1)
             : (std::log(earth_.M(phi1)) - std::log(earth_.M(phi2))) /
                   (std::log(earth_.T(phi1)) - std::log(earth_.T(phi2)));
    f_ = earth_.M(phi1) / (n_ * std::pow(earth_.T(phi1), n_));
    rho0_ = earth_.major() * f_ * std::pow(earth_.T(origin_ * kRadian), n_);
  }

  MapPoint Forward(const LatLon& place) const override {
    const double rho =
        earth_.major() * f_ * std::pow(earth_.T(sign_ * place.latitude * kRadian), n_);
    const double theta = n_ * sign_ * Wrap(place.longitude - centre_) * kRadian;
    return {sign_ * rho * std::sin(theta), sign_ * (rho0_ - rho * std::cos(theta))};
  }
  LatLon Inverse(const MapPoint& point) const override {
    const double x = sign_ * point.x, y = rho0_ - sign_ * point.y;
    const double side = n_ < 0 ? -1 : 1;
    const double rho = side * std::hypot(x, y);
    const double theta = std::atan2(side * x, side * y);
    const double t = std::pow(rho / (earth_.major() * f_), 1 / n_);
    return {sign_ * earth_.LatitudeOfT(t) / kRadian,
            Wrap(centre_ + sign_ * theta / n_ / kRadian)};
  }
  std::vector<model::Attribute> Mapping() const override {
    if (is_polar_) {
      return MappingOf("polar_stereographic", earth_,
                       {Number("straight_vertical_longitude_from_pole", Wrap(centre_)),
                        Number("latitude_of_projection_origin", sign_ * 90),
                        Number("standard_parallel", sign_ * std::abs(origin_)),
                        Number("false_easting", 0), Number("false_northing", 0)});
    }
    return MappingOf("lambert_conformal_conic", earth_,
                     {StandardParallels(latin1_, latin2_),
                      Number("longitude_of_central_meridian", Wrap(centre_)),
                      Number("latitude_of_projection_origin", origin_),
                      Number("false_easting", 0), Number("false_northing", 0)});
  }

 private:
  // Twice the limit of M / T / 2 at the pole (Snyder 21-33 with a scale of 1).
  double PolarScale() const {
    const double near = (90 - 1e-4) * kRadian;
    return earth_.M(near) / earth_.T(near);
  }

  const Earth earth_;
  const bool is_polar_;
  const double sign_, centre_, origin_, latin1_, latin2_;
  double n_ = 1, f_ = 1, rho0_ = 0;
};

class Mercator final : public Projection {
 public:
  explicit Mercator(const GribGrid& grid)
      : earth_(grid),
        parallel_(grid.standard_latitude),
        scale_(earth_.major() * earth_.M(parallel_ * kRadian)) {}

  MapPoint Forward(const LatLon& place) const override {
    return {scale_ * Wrap(place.longitude) * kRadian,
            -scale_ * std::log(earth_.T(place.latitude * kRadian))};
  }
  LatLon Inverse(const MapPoint& point) const override {
    return {earth_.LatitudeOfT(std::exp(-point.y / scale_)) / kRadian,
            Wrap(point.x / scale_ / kRadian)};
  }
  std::vector<model::Attribute> Mapping() const override {
    return MappingOf(
        "mercator", earth_,
        {Number("longitude_of_projection_origin", 0), Number("standard_parallel", parallel_),
         Number("false_easting", 0), Number("false_northing", 0)});
  }

 private:
  const Earth earth_;
  const double parallel_, scale_;
};

// Albers equal area conic (Snyder 14).
class Albers final : public Projection {
 public:
  explicit Albers(const GribGrid& grid)
      : earth_(grid),
        centre_(grid.orientation_longitude),
        origin_(grid.standard_latitude),
        latin1_(grid.latin1),
        latin2_(grid.latin2) {
    const double phi1 = latin1_ * kRadian, phi2 = latin2_ * kRadian;
    const double m1 = earth_.M(phi1), m2 = earth_.M(phi2);
    const double q1 = earth_.Q(phi1), q2 = earth_.Q(phi2);
    n_ = std::abs(latin1_ - latin2_) < 1e-9 ? std::sin(phi1) : (m1 * m1 - m2 * m2) / (q2 - q1);
    c_ = m1 * m1 + n_ * q1;
    rho0_ = Rho(earth_.Q(origin_ * kRadian));
  }

  MapPoint Forward(const LatLon& place) const override {
    const double rho = Rho(earth_.Q(place.latitude * kRadian));
    const double theta = n_ * Wrap(place.longitude - centre_) * kRadian;
    return {rho * std::sin(theta), rho0_ - rho * std::cos(theta)};
  }
  LatLon Inverse(const MapPoint& point) const override {
    const double side = n_ < 0 ? -1 : 1;
    const double y = rho0_ - point.y;
    const double rho = std::hypot(point.x, y);
    const double theta = std::atan2(side * point.x, side * y);
    const double scaled = rho * n_ / earth_.major();
    return {earth_.LatitudeOfQ((c_ - scaled * scaled) / n_) / kRadian,
            Wrap(centre_ + theta / n_ / kRadian)};
  }
  std::vector<model::Attribute> Mapping() const override {
    return MappingOf("albers_conical_equal_area", earth_,
                     {StandardParallels(latin1_, latin2_),
                      Number("longitude_of_central_meridian", Wrap(centre_)),
                      Number("latitude_of_projection_origin", origin_),
                      Number("false_easting", 0), Number("false_northing", 0)});
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
class Azimuthal final : public Projection {
 public:
  explicit Azimuthal(const GribGrid& grid)
      : earth_(grid), centre_(grid.orientation_longitude), origin_(grid.standard_latitude) {
    pole_ = earth_.Q(kQuarter);
    radius_ = earth_.major() * std::sqrt(pole_ / 2);
    beta_ = std::asin(std::clamp(earth_.Q(origin_ * kRadian) / pole_, -1.0, 1.0));
    const bool is_pole = std::abs(std::abs(origin_) - 90) < 1e-9;
    d_ = is_pole ? 1
                 : earth_.major() * earth_.M(origin_ * kRadian) / (radius_ * std::cos(beta_));
  }

  MapPoint Forward(const LatLon& place) const override {
    const double beta =
        std::asin(std::clamp(earth_.Q(place.latitude * kRadian) / pole_, -1.0, 1.0));
    const double lambda = Wrap(place.longitude - centre_) * kRadian;
    const double b =
        radius_ * std::sqrt(2 / (1 + std::sin(beta_) * std::sin(beta) +
                                 std::cos(beta_) * std::cos(beta) * std::cos(lambda)));
    return {b * d_ * std::cos(beta) * std::sin(lambda),
            b / d_ *
                (std::cos(beta_) * std::sin(beta) -
                 std::sin(beta_) * std::cos(beta) * std::cos(lambda))};
  }
  LatLon Inverse(const MapPoint& point) const override {
    const double x = point.x / d_, y = point.y * d_;
    const double rho = std::hypot(x, y);
    if (rho < 1e-9) return {origin_, Wrap(centre_)};
    if (rho > 2 * radius_) return {NAN, NAN};
    const double c = 2 * std::asin(rho / (2 * radius_));
    const double q =
        pole_ * (std::cos(c) * std::sin(beta_) + y * std::sin(c) * std::cos(beta_) / rho);
    const double lambda = std::atan2(x * std::sin(c), rho * std::cos(beta_) * std::cos(c) -
                                                          y * std::sin(beta_) * std::sin(c));
    return {earth_.LatitudeOfQ(q) / kRadian, Wrap(centre_ + lambda / kRadian)};
  }
  std::vector<model::Attribute> Mapping() const override {
    return MappingOf("lambert_azimuthal_equal_area", earth_,
                     {Number("longitude_of_projection_origin", Wrap(centre_)),
                      Number("latitude_of_projection_origin", origin_),
                      Number("false_easting", 0), Number("false_northing", 0)});
  }

 private:
  const Earth earth_;
  const double centre_, origin_;
  double pole_ = 2, radius_ = 1, beta_ = 0, d_ = 1;
};

// Latitudes and longitudes around another pole.
class RotatedPole final : public Projection {
 public:
  explicit RotatedPole(const GribGrid& grid)
      : earth_(grid),
        pole_latitude_(-grid.south_pole_latitude),
        pole_longitude_(Wrap(grid.south_pole_longitude + 180)),
        rotation_(grid.rotation) {}

  MapPoint Forward(const LatLon& place) const override {
    const double phi = place.latitude * kRadian, pole = pole_latitude_ * kRadian;
    const double lambda = (place.longitude - pole_longitude_) * kRadian;
    const double latitude = std::asin(std::clamp(
        std::sin(phi) * std::sin(pole) + std::cos(phi) * std::cos(pole) * std::cos(lambda),
        -1.0, 1.0));
    const double longitude = std::atan2(
        -std::cos(phi) * std::sin(lambda),
        std::sin(phi) * std::cos(pole) - std::cos(phi) * std::sin(pole) * std::cos(lambda));
    return {Wrap(longitude / kRadian - rotation_), latitude / kRadian};
  }
  LatLon Inverse(const MapPoint& point) const override {
    const double phi = point.y * kRadian, pole = pole_latitude_ * kRadian;
    const double lambda = (point.x + rotation_) * kRadian;
    const double latitude = std::asin(std::clamp(
        std::sin(phi) * std::sin(pole) + std::cos(phi) * std::cos(pole) * std::cos(lambda),
        -1.0, 1.0));
    const double longitude = std::atan2(
        -std::cos(phi) * std::sin(lambda),
        std::sin(phi) * std::cos(pole) - std::cos(phi) * std::sin(pole) * std::cos(lambda));
    return {latitude / kRadian, Wrap(pole_longitude_ + longitude / kRadian)};
  }
  std::vector<model::Attribute> Mapping() const override {
    return MappingOf("rotated_latitude_longitude", earth_,
                     {Number("grid_north_pole_latitude", pole_latitude_),
                      Number("grid_north_pole_longitude", pole_longitude_),
                      Number("north_pole_grid_longitude", rotation_)});
  }

 private:
  const Earth earth_;
  const double pole_latitude_, pole_longitude_, rotation_;
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

std::shared_ptr<const Projection> MakeProjection(const GribGrid& grid) {
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
    default:
      break;
  }
  return nullptr;
}

}  // namespace ndlfs::backends::grib
