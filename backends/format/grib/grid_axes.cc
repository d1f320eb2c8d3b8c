// SPDX-License-Identifier: MIT
#include "backends/format/grib/grid_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "backends/base/load_number.h"
#include "backends/codec/grib/coordinates.h"
#include "backends/codec/grib/message.h"
#include "backends/codec/grib/projection.h"
#include "model/attributes.h"
#include "model/entities.h"

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

// The attributes of a grid mapping variable of CF. Empty for grids along latitudes and
// longitudes, and for those that CF has no name for.
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

using Kind = GribGridKind;

model::Attribute TextOf(const char* name, std::string_view text) {
  return model::MakeTextAttribute(name, text);
}
model::Attribute NumberOf(const char* name, double number) {
  return {name, model::Datatype::Float64(), {}, number, {}};
}
model::Attribute CountOf(const char* name, uint64_t count) {
  const size_t bytes = count <= INT32_MAX ? 4 : 8;
  return {name, model::Datatype::Integer(bytes, true), {}, static_cast<int64_t>(count), {}};
}

std::string TypeOf(const GribGrid* grid) {
  if (grid == nullptr) return "unknown";
  const bool is_reduced = grid->is_reduced();
  switch (grid->kind) {
    case Kind::kLatLon:
      return is_reduced ? "reduced_ll" : "regular_ll";
    case Kind::kRotatedLatLon:
      return is_reduced ? "reduced_rotated_ll" : "rotated_ll";
    case Kind::kMercator:
      return "mercator";
    case Kind::kTransverseMercator:
      return "transverse_mercator";
    case Kind::kPolarStereographic:
      return "polar_stereographic";
    case Kind::kLambert:
      return "lambert";
    case Kind::kAlbers:
      return "albers";
    case Kind::kGaussian:
      return is_reduced ? "reduced_gg" : "regular_gg";
    case Kind::kRotatedGaussian:
      return is_reduced ? "reduced_rotated_gg" : "rotated_gg";
    case Kind::kSpaceView:
      return "space_view";
    case Kind::kUnstructured:
      return "unstructured_grid";
    case Kind::kLambertAzimuthal:
      return "lambert_azimuthal_equal_area";
    case Kind::kHealpix:
      return "healpix";
    default:
      break;
  }
  constexpr uint16_t kHarmonics = 50;
  if (grid->template_number == kHarmonics) return "sh";
  return "unknown";
}

bool IsGaussian(const GribGrid& grid) {
  return grid.kind == Kind::kGaussian || grid.kind == Kind::kRotatedGaussian;
}
bool IsRotated(const GribGrid& grid) {
  return grid.kind == Kind::kRotatedLatLon || grid.kind == Kind::kRotatedGaussian;
}
// Along latitudes and longitudes, perhaps those of another pole.
bool IsGeographic(const GribGrid& grid) {
  return grid.kind == Kind::kLatLon || IsGaussian(grid) || IsRotated(grid);
}

// --- Coordinates along one dimension

// Equal steps, or a list.
struct Line {
  double first = 0, step = 0;
  std::shared_ptr<const std::vector<double>> list = nullptr;
  double At(uint64_t i) const {
    return list ? (*list)[i] : first + static_cast<double>(i) * step;
  }
};

// The latitudes of the rows or the longitudes of the columns, also those around another pole.
// nullopt if the numbers of the grid cannot be, or are more than any grid has.
std::optional<Line> AxisOf(const GribGrid& grid, GribCoordinate coordinate) {
  constexpr uint64_t kMost = 100'000;
  constexpr uint32_t kMostParallels = 2600;
  if (grid.ni > kMost || grid.nj > kMost) return std::nullopt;
  if (IsGaussian(grid) && grid.parallels > kMostParallels) return std::nullopt;
  GribGrid unrotated = grid;
  unrotated.kind = IsGaussian(grid) ? Kind::kGaussian : Kind::kLatLon;
  auto numbers = GribAxis(unrotated, coordinate);
  if (!numbers) return std::nullopt;
  return Line{0, 0, std::make_shared<const std::vector<double>>(*std::move(numbers))};
}

// Longitudes that cross the end of the circle begin or end below 0, so that they are in order.
Line InOrder(const Line& longitudes, bool is_negative) {
  std::vector<double> numbers = *longitudes.list;
  const auto turn = is_negative ? std::ranges::adjacent_find(numbers, std::less<>())
                                : std::ranges::adjacent_find(numbers, std::greater<>());
  if (turn == numbers.end()) return longitudes;
  const auto next = turn + 1;
  const auto from = is_negative ? next : numbers.begin();
  const auto to = is_negative ? numbers.end() : next;
  std::for_each(from, to, [](double& degrees) { degrees -= 360; });
  return {0, 0, std::make_shared<const std::vector<double>>(std::move(numbers))};
}

// --- Attributes

std::vector<model::Attribute> LatitudeAttributes() {
  return {TextOf("units", "degrees_north"), TextOf("standard_name", "latitude"),
          TextOf("long_name", "latitude")};
}
std::vector<model::Attribute> LongitudeAttributes() {
  return {TextOf("units", "degrees_east"), TextOf("standard_name", "longitude"),
          TextOf("long_name", "longitude")};
}
// The attributes of the coordinates along x and y.
struct TextOfMap {
  const char* units;
  const char* standard_name[2];
  const char* long_name[2];
};
constexpr TextOfMap kOfPlane = {"m",
                                {"projection_x_coordinate", "projection_y_coordinate"},
                                {"x coordinate of projection", "y coordinate of projection"}};
constexpr TextOfMap kOfRotatedPole = {
    "degrees",
    {"grid_longitude", "grid_latitude"},
    {"longitude in rotated pole grid", "latitude in rotated pole grid"}};
constexpr TextOfMap kOfSatellite = {
    "radian",
    {"projection_x_angular_coordinate", "projection_y_angular_coordinate"},
    {"angle to the east, seen from the satellite",
     "angle to the north, seen from the satellite"}};

std::vector<model::Attribute> MapAttributes(bool is_x, Kind kind) {
  const TextOfMap& text = kind == Kind::kSpaceView ? kOfSatellite
                          : kind == Kind::kRotatedLatLon || kind == Kind::kRotatedGaussian
                              ? kOfRotatedPole
                              : kOfPlane;
  return {TextOf("units", text.units),
          TextOf("standard_name", text.standard_name[is_x ? 0 : 1]),
          TextOf("long_name", text.long_name[is_x ? 0 : 1]), TextOf("axis", is_x ? "X" : "Y")};
}

void AddSatelliteKeys(const GribGrid& grid, std::vector<model::Attribute>& keys) {
  keys.push_back(NumberOf("GRIB_latitudeOfSubSatellitePointInDegrees", grid.standard_latitude));
  keys.push_back(
      NumberOf("GRIB_longitudeOfSubSatellitePointInDegrees", grid.orientation_longitude));
  keys.push_back(NumberOf("GRIB_orientationOfTheGridInDegrees", grid.rotation));
  if (grid.satellite_distance != 0) {
    keys.push_back(NumberOf("GRIB_NrInRadiusOfEarth", grid.satellite_distance));
  }
}

void AddProjectionKeys(const GribGrid& grid, std::vector<model::Attribute>& keys) {
  if (grid.di) keys.push_back(NumberOf("GRIB_DxInMetres", *grid.di));
  if (grid.dj) keys.push_back(NumberOf("GRIB_DyInMetres", *grid.dj));
  keys.push_back(NumberOf("GRIB_LaDInDegrees", grid.standard_latitude));
  keys.push_back(NumberOf("GRIB_LoVInDegrees", grid.orientation_longitude));
  if (grid.kind == Kind::kLambert || grid.kind == Kind::kAlbers) {
    keys.push_back(NumberOf("GRIB_Latin1InDegrees", grid.latin1));
    keys.push_back(NumberOf("GRIB_Latin2InDegrees", grid.latin2));
  }
}

// Octets 16 to 35 of template 3.101 name a grid whose points are in another file.
std::vector<model::Attribute> KeysOfUnstructured(const GribGrid& grid) {
  const std::span<const std::byte> section = *grid.section;
  constexpr size_t kUsed = 15, kReference = 18, kIdentifier = 19, kEnd = 35;
  if (section.size() < kEnd) return {};
  const uint64_t used = LoadNumber(section.subspan(kUsed, kReference - kUsed));
  std::string identifier;
  for (size_t i = kIdentifier; i < kEnd; ++i) {
    identifier += fmt::format("{:02x}", std::to_integer<unsigned>(section[i]));
  }
  return {
      CountOf("GRIB_numberOfGridUsed", used),
      CountOf("GRIB_numberOfGridInReference", std::to_integer<uint64_t>(section[kReference])),
      TextOf("GRIB_uuidOfHGrid", identifier)};
}

// Those that cfgrib gives its variables.
std::vector<model::Attribute> KeysOf(const GribGrid& grid) {
  if (grid.kind == Kind::kUnstructured) return KeysOfUnstructured(grid);
  if (grid.nside != 0) {
    return {CountOf("GRIB_Nside", grid.nside),
            TextOf("GRIB_orderingConvention", grid.is_nested ? "nested" : "ring")};
  }
  std::vector<model::Attribute> keys;
  if (grid.nj == 0) return keys;
  if (!grid.is_reduced()) keys.push_back(CountOf("GRIB_Nx", grid.ni));
  keys.push_back(CountOf("GRIB_Ny", grid.nj));
  keys.push_back(CountOf("GRIB_iScansNegatively", grid.i_negative() ? 1 : 0));
  keys.push_back(CountOf("GRIB_jScansPositively", grid.j_positive() ? 1 : 0));
  keys.push_back(CountOf("GRIB_jPointsAreConsecutive", grid.j_consecutive() ? 1 : 0));
  if (grid.kind == Kind::kSpaceView) {
    AddSatelliteKeys(grid, keys);
    return keys;
  }
  const auto degrees = [&](const char* name, double value) {
    keys.push_back(NumberOf(name, value));
  };
  degrees("GRIB_latitudeOfFirstGridPointInDegrees", grid.first_latitude);
  degrees("GRIB_longitudeOfFirstGridPointInDegrees", grid.first_longitude);
  if (IsGeographic(grid) || grid.kind == Kind::kMercator) {
    degrees("GRIB_latitudeOfLastGridPointInDegrees", grid.last_latitude);
    degrees("GRIB_longitudeOfLastGridPointInDegrees", grid.last_longitude);
  }
  if (IsGaussian(grid)) keys.push_back(CountOf("GRIB_N", grid.parallels));
  if (!IsGeographic(grid)) AddProjectionKeys(grid, keys);
  if (IsGeographic(grid) && !grid.is_reduced()) {
    if (grid.di) degrees("GRIB_iDirectionIncrementInDegrees", *grid.di);
    if (grid.dj && !IsGaussian(grid)) degrees("GRIB_jDirectionIncrementInDegrees", *grid.dj);
  }
  if (IsRotated(grid)) {
    degrees("GRIB_latitudeOfSouthernPoleInDegrees", grid.south_pole_latitude);
    degrees("GRIB_longitudeOfSouthernPoleInDegrees", grid.south_pole_longitude);
    degrees("GRIB_angleOfRotationInDegrees", grid.rotation);
  }
  return keys;
}

// --- Kinds of grids

void AddLine(GridAxes& axes, size_t dim, Line line, std::vector<model::Attribute> attributes) {
  axes.coordinates.push_back({axes.dims[dim].name,
                              {dim},
                              ElementAt([line](uint64_t i) { return line.At(i); }),
                              std::move(attributes)});
}

// Latitude and longitude of each point, where `x` and `y` give the columns and rows.
void AddPlaces(GridAxes& axes, const std::shared_ptr<const GribProjection>& projection, Line x,
               Line y) {
  const uint64_t ni = axes.dims[1].size;
  const auto at = [=](uint64_t i) { return projection->Inverse({x.At(i % ni), y.At(i / ni)}); };
  axes.coordinates.push_back({"latitude",
                              {0, 1},
                              ElementAt([at](uint64_t i) { return at(i).latitude; }),
                              LatitudeAttributes()});
  axes.coordinates.push_back({"longitude",
                              {0, 1},
                              ElementAt([at](uint64_t i) { return at(i).longitude; }),
                              LongitudeAttributes()});
}

void DescribeProjected(const GribGrid& grid, GridAxes& axes) {
  const auto map = MapOfGribGrid(grid);
  if (!map) return;
  const Line x{map->x, map->dx}, y{map->y, map->dy};
  axes.mapping = GridMappingOf(grid);
  AddLine(axes, 0, y, MapAttributes(false, grid.kind));
  AddLine(axes, 1, x, MapAttributes(true, grid.kind));
  if (map->projection) AddPlaces(axes, map->projection, x, y);
}

void DescribeRegular(const GribGrid& grid, GridAxes& axes) {
  const auto rows = AxisOf(grid, GribCoordinate::kLatitude);
  const auto as_stored = AxisOf(grid, GribCoordinate::kLongitude);
  if (!rows || !as_stored) return;
  const Line columns = InOrder(*as_stored, grid.i_negative());
  if (!IsRotated(grid)) {
    axes.dims[0].name = "latitude";
    axes.dims[1].name = "longitude";
    AddLine(axes, 0, *rows, LatitudeAttributes());
    AddLine(axes, 1, columns, LongitudeAttributes());
    return;
  }
  axes.dims[0].name = "rlat";
  axes.dims[1].name = "rlon";
  const auto projection = MakeGribProjection(grid);
  AddLine(axes, 0, *rows, MapAttributes(false, grid.kind));
  AddLine(axes, 1, columns, MapAttributes(true, grid.kind));
  if (!projection) return;
  axes.mapping = GridMappingOf(grid);
  AddPlaces(axes, projection, columns, *rows);
}

// Rows of different lengths, and HEALPix: a dimension of all points.
void DescribePoints(const std::shared_ptr<const GribGrid>& grid, GridAxes& axes) {
  if (!HasGribPoints(*grid)) return;
  const auto fill = [grid](GribCoordinate coordinate) {
    return FillElements([grid, coordinate](std::span<double> out) {
      return GribPoints(*grid, coordinate, out);
    });
  };
  axes.coordinates.push_back(
      {"latitude", {0}, fill(GribCoordinate::kLatitude), LatitudeAttributes()});
  axes.coordinates.push_back(
      {"longitude", {0}, fill(GribCoordinate::kLongitude), LongitudeAttributes()});
}

void DescribeRows(const std::shared_ptr<const GribGrid>& grid, GridAxes& axes) {
  axes.dims = {{"y", grid->nj}, {"x", grid->ni}};
  if (grid->has_offset_points()) return;
  if (IsGeographic(*grid)) {
    DescribeRegular(*grid, axes);
  } else {
    DescribeProjected(*grid, axes);
  }
}

// Why nothing is said about where the points are.
std::string WhyThereAreNoPlaces(const GridAxes& axes, const GribGrid* grid) {
  if (grid != nullptr && grid->kind == Kind::kUnstructured) {
    return "its messages do not say where the points are: the file of the grid that they name "
           "(GRIB_uuidOfHGrid) does";
  }
  return fmt::format(
      "there are no latitudes and longitudes: grids like this one ({}) are not "
      "supported",
      axes.type);
}

}  // namespace

GridAxes DescribeGrid(const std::shared_ptr<const GribGrid>& grid, uint64_t points) {
  GridAxes axes;
  axes.type = TypeOf(grid.get());
  axes.dims = {{"values", points}};
  if (!grid) {
    axes.note = WhyThereAreNoPlaces(axes, nullptr);
    return axes;
  }
  axes.attributes = KeysOf(*grid);
  const bool has_rows = !grid->is_reduced() && grid->ni != 0 && grid->nj != 0 &&
                        points / grid->ni == grid->nj && points % grid->ni == 0;
  if (has_rows) {
    DescribeRows(grid, axes);
  } else {
    DescribePoints(grid, axes);
  }
  const auto is_latitude = [](const GridCoordinate& c) { return c.name == "latitude"; };
  if (std::ranges::none_of(axes.coordinates, is_latitude)) {
    axes.note = WhyThereAreNoPlaces(axes, grid.get());
  }
  return axes;
}

}  // namespace ndlfs::backends::grib
