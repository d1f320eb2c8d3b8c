// SPDX-License-Identifier: MIT
#include "backends/format/grib/grid_mapping.h"

#include <cmath>
#include <utility>

#include "model/attributes.h"

namespace ndlfs::backends::grib {
namespace {

using MappingKind = GribGridKind;
using MappingAttributes = std::vector<model::Attribute>;

model::Attribute MappingNumber(const char* name, double value) {
  return {name, model::Datatype::Float64(), {}, value, {}};
}

// Degrees in (-180, 180], as CF has them.
double WrapMappingDegrees(double degrees) {
  const double wrapped = std::remainder(degrees, 360.0);
  return wrapped == -180 ? 180 : wrapped;
}

MappingAttributes Mapping(const GribGrid& grid, const char* name, MappingAttributes more) {
  MappingAttributes attributes = {model::MakeTextAttribute("grid_mapping_name", name)};
  if (grid.major_axis == grid.minor_axis && grid.kind != MappingKind::kTransverseMercator) {
    attributes.push_back(MappingNumber("earth_radius", grid.major_axis));
  } else {
    attributes.push_back(MappingNumber("semi_major_axis", grid.major_axis));
    attributes.push_back(MappingNumber("semi_minor_axis", grid.minor_axis));
  }
  attributes.insert(attributes.end(), more.begin(), more.end());
  return attributes;
}

// With the two attributes that all mappings to a plane end with.
MappingAttributes PlaneMapping(const GribGrid& grid, const char* name, MappingAttributes more) {
  more.push_back(MappingNumber("false_easting", grid.false_x));
  more.push_back(MappingNumber("false_northing", grid.false_y));
  return Mapping(grid, name, std::move(more));
}

MappingAttributes ConeMapping(const GribGrid& grid, const char* name) {
  model::Attribute parallels = MappingNumber("standard_parallel", grid.latin1);
  if (grid.latin1 != grid.latin2) {
    parallels.shape = {2};
    parallels.value = model::Value::List{grid.latin1, grid.latin2};
  }
  return PlaneMapping(grid, name,
                      {parallels,
                       MappingNumber("longitude_of_central_meridian",
                                     WrapMappingDegrees(grid.orientation_longitude)),
                       MappingNumber("latitude_of_projection_origin", grid.standard_latitude)});
}

MappingAttributes PoleMapping(const GribGrid& grid) {
  const double sign = grid.is_south_pole_projected ? -1 : 1;
  return PlaneMapping(
      grid, "polar_stereographic",
      {MappingNumber("straight_vertical_longitude_from_pole",
                     WrapMappingDegrees(grid.orientation_longitude)),
       MappingNumber("latitude_of_projection_origin", sign * 90),
       MappingNumber("standard_parallel", sign * std::abs(grid.standard_latitude))});
}

MappingAttributes RotatedMapping(const GribGrid& grid) {
  return Mapping(grid, "rotated_latitude_longitude",
                 {MappingNumber("grid_north_pole_latitude", -grid.south_pole_latitude),
                  MappingNumber("grid_north_pole_longitude",
                                WrapMappingDegrees(grid.south_pole_longitude + 180)),
                  MappingNumber("north_pole_grid_longitude", grid.rotation)});
}

MappingAttributes SatelliteMapping(const GribGrid& grid) {
  const double height = (grid.satellite_distance - 1) * grid.major_axis;
  return PlaneMapping(grid, "geostationary",
                      {MappingNumber("perspective_point_height", height),
                       MappingNumber("latitude_of_projection_origin", 0),
                       MappingNumber("longitude_of_projection_origin",
                                     WrapMappingDegrees(grid.orientation_longitude)),
                       model::MakeTextAttribute("sweep_angle_axis", "y")});
}

}  // namespace

std::vector<model::Attribute> GridMappingOf(const GribGrid& grid) {
  switch (grid.kind) {
    case MappingKind::kLambert:
      return ConeMapping(grid, "lambert_conformal_conic");
    case MappingKind::kAlbers:
      return ConeMapping(grid, "albers_conical_equal_area");
    case MappingKind::kPolarStereographic:
      return PoleMapping(grid);
    case MappingKind::kMercator:
      return PlaneMapping(grid, "mercator",
                          {MappingNumber("longitude_of_projection_origin", 0),
                           MappingNumber("standard_parallel", grid.standard_latitude)});
    case MappingKind::kLambertAzimuthal:
      return PlaneMapping(
          grid, "lambert_azimuthal_equal_area",
          {MappingNumber("longitude_of_projection_origin",
                         WrapMappingDegrees(grid.orientation_longitude)),
           MappingNumber("latitude_of_projection_origin", grid.standard_latitude)});
    case MappingKind::kTransverseMercator:
      return PlaneMapping(
          grid, "transverse_mercator",
          {MappingNumber("longitude_of_central_meridian", grid.orientation_longitude),
           MappingNumber("latitude_of_projection_origin", grid.standard_latitude),
           MappingNumber("scale_factor_at_central_meridian", grid.scale)});
    case MappingKind::kRotatedLatLon:
    case MappingKind::kRotatedGaussian:
      return RotatedMapping(grid);
    case MappingKind::kSpaceView:
      return SatelliteMapping(grid);
    default:
      return {};
  }
}

}  // namespace ndlfs::backends::grib
