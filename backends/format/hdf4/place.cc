// SPDX-License-Identifier: MIT
#include "backends/format/hdf4/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

#include "backends/format/sinusoidal.h"
#include "model/attributes.h"

namespace ndlfs::backends::hdf4 {
namespace {

class Attributes {
 public:
  void Text(const char* name, std::string_view text) {
    made_.push_back(model::MakeTextAttribute(name, text));
  }
  void Real(const char* name, double value) {
    made_.push_back({name, model::Datatype::Float64(), {}, value, {}});
  }
  void Reals(const char* name, double a, double b) {
    made_.push_back({name,
                     model::Datatype::Float64(),
                     {2},
                     model::Value::List{model::Value(a), model::Value(b)},
                     {}});
  }
  std::vector<model::Attribute> Take() && { return std::move(made_); }

 private:
  std::vector<model::Attribute> made_;
};

// Angles of GCTP: DDDMMMSSS.SS.
double Degrees(double packed) {
  const double size = std::abs(packed);
  const double degrees = std::floor(size / 1e6);
  const double minutes = std::floor((size - degrees * 1e6) / 1e3);
  const double seconds = size - degrees * 1e6 - minutes * 1e3;
  return std::copysign(degrees + minutes / 60 + seconds / 3600, packed);
}

// The ellipsoids of GCTP: code, and the two axes.
struct Sphere {
  int code;
  double major;
  double minor;
};
constexpr Sphere kSpheres[] = {
    {0, 6378206.4, 6356583.8},        // Clarke 1866
    {1, 6378249.145, 6356514.86955},  // Clarke 1880
    {2, 6377397.155, 6356078.96284},  // Bessel
    {5, 6378135.0, 6356750.519915},   // WGS 72
    {8, 6378137.0, 6356752.31414},    // GRS 1980
    {12, 6378137.0, 6356752.314245},  // WGS 84
    {19, 6370997.0, 6370997.0},       // sphere
};

// By the parameters if they have a length: the second is the other axis, or the square of the
// eccentricity.
void AddShape(const EosGrid& grid, Attributes& attributes) {
  double major = grid.parameters[0], minor = grid.parameters[1];
  if (grid.projection == "GCTP_UTM" || grid.projection == "GCTP_GEO") major = 0;
  // One length, where other projections have a second one: of a sphere.
  const bool is_round = grid.projection == "GCTP_SNSOID" || grid.projection == "GCTP_LAMAZ";
  if (major > 0) {
    if (is_round || minor == 0) minor = major;
    if (minor > 0 && minor < 1) minor = major * std::sqrt(1 - minor);
  } else {
    const auto found = std::ranges::find(kSpheres, grid.sphere, &Sphere::code);
    if (found == std::end(kSpheres)) return;
    major = found->major;
    minor = found->minor;
  }
  if (!(minor > 0) || minor > major) return;
  attributes.Real("semi_major_axis", major);
  attributes.Real("semi_minor_axis", minor);
}

// The parameters that have an index in GCTP and a name in CF (1.11, appendix F).
struct Parameter {
  size_t index;
  const char* name;
  bool is_angle;
};
struct Projection {
  std::string_view code;
  const char* name;
  std::array<Parameter, 3> parameters;  // as far as they have names
};
constexpr Projection kProjections[] = {
    {"GCTP_SNSOID", "sinusoidal", {{{4, "longitude_of_projection_origin", true}}}},
    {"GCTP_LAMAZ",
     "lambert_azimuthal_equal_area",
     {{{4, "longitude_of_projection_origin", true},
       {5, "latitude_of_projection_origin", true}}}},
    {"GCTP_PS",
     "polar_stereographic",
     {{{4, "straight_vertical_longitude_from_pole", true}, {5, "standard_parallel", true}}}},
    {"GCTP_LAMCC",
     "lambert_conformal_conic",
     {{{4, "longitude_of_central_meridian", true},
       {5, "latitude_of_projection_origin", true}}}},
    {"GCTP_ALBERS",
     "albers_conical_equal_area",
     {{{4, "longitude_of_central_meridian", true},
       {5, "latitude_of_projection_origin", true}}}},
    {"GCTP_CEA",
     "lambert_cylindrical_equal_area",
     {{{4, "longitude_of_central_meridian", true}, {5, "standard_parallel", true}}}},
    {"GCTP_BCEA",
     "lambert_cylindrical_equal_area",
     {{{4, "longitude_of_central_meridian", true}, {5, "standard_parallel", true}}}},
    {"GCTP_MERCAT",
     "mercator",
     {{{4, "longitude_of_projection_origin", true}, {5, "standard_parallel", true}}}},
    {"GCTP_TM",
     "transverse_mercator",
     {{{2, "scale_factor_at_central_meridian", false},
       {4, "longitude_of_central_meridian", true},
       {5, "latitude_of_projection_origin", true}}}},
};

void AddUtm(int zone, Attributes& attributes) {
  attributes.Text("grid_mapping_name", "transverse_mercator");
  attributes.Real("scale_factor_at_central_meridian", 0.9996);
  attributes.Real("longitude_of_central_meridian", std::abs(zone) * 6 - 183);
  attributes.Real("latitude_of_projection_origin", 0);
  attributes.Real("false_easting", 500'000);
  attributes.Real("false_northing", zone < 0 ? 10'000'000 : 0);
}

bool AddProjection(const EosGrid& grid, Attributes& attributes) {
  if (grid.projection == "GCTP_GEO") {
    attributes.Text("grid_mapping_name", "latitude_longitude");
    return true;
  }
  if (grid.projection == "GCTP_UTM") {
    const bool is_zone = grid.zone != 0 && grid.zone >= -60 && grid.zone <= 60;
    if (is_zone) AddUtm(grid.zone, attributes);
    return is_zone;
  }
  const auto found = std::ranges::find(kProjections, grid.projection, &Projection::code);
  if (found == std::end(kProjections)) return false;
  attributes.Text("grid_mapping_name", found->name);
  const auto& numbers = grid.parameters;
  for (const Parameter& parameter : found->parameters) {
    if (parameter.name == nullptr) continue;
    const double number = numbers[parameter.index];
    attributes.Real(parameter.name, parameter.is_angle ? Degrees(number) : number);
  }
  if (grid.projection == "GCTP_PS") {
    attributes.Real("latitude_of_projection_origin", std::copysign(90, numbers[5]));
  }
  if (grid.projection == "GCTP_LAMCC" || grid.projection == "GCTP_ALBERS") {
    attributes.Reals("standard_parallel", Degrees(numbers[2]), Degrees(numbers[3]));
  }
  attributes.Real("false_easting", numbers[6]);
  attributes.Real("false_northing", numbers[7]);
  return true;
}

std::vector<model::Attribute> AttributesOfAxis(bool is_geographic, bool is_x) {
  Attributes attributes;
  if (is_geographic) {
    attributes.Text("standard_name", is_x ? "longitude" : "latitude");
    attributes.Text("units", is_x ? "degrees_east" : "degrees_north");
  } else {
    attributes.Text("standard_name",
                    is_x ? "projection_x_coordinate" : "projection_y_coordinate");
    attributes.Text("units", "m");
  }
  attributes.Text("axis", is_x ? "X" : "Y");
  return std::move(attributes).Take();
}

// From the edge where the first pixel is to the other one.
Line LineOf(double begin, double end, uint64_t count, bool is_corner) {
  const double step = (end - begin) / static_cast<double>(count);
  return {begin + (is_corner ? 0 : step / 2), step};
}

}  // namespace

std::optional<GridPlace> PlaceOf(const EosGrid& grid) {
  const bool has_corners = grid.has_upper_left && grid.has_lower_right;
  if (!has_corners || grid.columns == 0 || grid.rows == 0) return std::nullopt;
  Attributes mapping;
  if (!AddProjection(grid, mapping)) return std::nullopt;
  AddShape(grid, mapping);
  const bool is_geographic = grid.projection == "GCTP_GEO";
  const auto place_of = [&](double corner) { return is_geographic ? Degrees(corner) : corner; };
  double left = place_of(grid.upper_left[0]), right = place_of(grid.lower_right[0]);
  double top = place_of(grid.upper_left[1]), bottom = place_of(grid.lower_right[1]);
  if (left == right || top == bottom) return std::nullopt;
  if (grid.origin == "HDFE_GD_UR" || grid.origin == "HDFE_GD_LR") std::swap(left, right);
  if (grid.origin == "HDFE_GD_LL" || grid.origin == "HDFE_GD_LR") std::swap(top, bottom);
  const bool is_corner = grid.registration == "HDFE_CORNER";
  GridPlace place;
  place.x = LineOf(left, right, grid.columns, is_corner);
  place.y = LineOf(top, bottom, grid.rows, is_corner);
  place.x_attributes = AttributesOfAxis(is_geographic, true);
  place.y_attributes = AttributesOfAxis(is_geographic, false);
  place.mapping = std::move(mapping).Take();
  if (auto text = TextOfSinusoidal(place.mapping)) place.mapping.push_back(*std::move(text));
  return place;
}

}  // namespace ndlfs::backends::hdf4
