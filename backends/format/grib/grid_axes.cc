// SPDX-License-Identifier: MIT
#include "backends/format/grib/grid_axes.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "backends/codec/grib/coordinates.h"
#include "backends/format/grib/projection.h"
#include "model/attributes.h"

namespace ndlfs::backends::grib {
namespace {

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
    default:
      break;
  }
  constexpr uint16_t kHarmonics = 50, kHealpix = 150;
  if (grid->template_number == kHarmonics) return "sh";
  if (grid->template_number == kHealpix && grid->edition == 2) return "healpix";
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
std::vector<model::Attribute> MapAttributes(bool is_x, bool is_rotated) {
  if (is_rotated) {
    return {TextOf("units", "degrees"),
            TextOf("standard_name", is_x ? "grid_longitude" : "grid_latitude"),
            TextOf("long_name",
                   is_x ? "longitude in rotated pole grid" : "latitude in rotated pole grid"),
            TextOf("axis", is_x ? "X" : "Y")};
  }
  return {
      TextOf("units", "m"),
      TextOf("standard_name", is_x ? "projection_x_coordinate" : "projection_y_coordinate"),
      TextOf("long_name", is_x ? "x coordinate of projection" : "y coordinate of projection"),
      TextOf("axis", is_x ? "X" : "Y")};
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

// Those that cfgrib gives its variables.
std::vector<model::Attribute> KeysOf(const GribGrid& grid) {
  std::vector<model::Attribute> keys;
  if (grid.nj == 0) return keys;
  if (!grid.is_reduced()) keys.push_back(CountOf("GRIB_Nx", grid.ni));
  keys.push_back(CountOf("GRIB_Ny", grid.nj));
  keys.push_back(CountOf("GRIB_iScansNegatively", grid.i_negative() ? 1 : 0));
  keys.push_back(CountOf("GRIB_jScansPositively", grid.j_positive() ? 1 : 0));
  keys.push_back(CountOf("GRIB_jPointsAreConsecutive", grid.j_consecutive() ? 1 : 0));
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

// Latitude and longitude of each point of a projected grid.
void AddPlaces(GridAxes& axes, const std::shared_ptr<const Projection>& projection, Line x,
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
  const auto projection = MakeProjection(grid);
  const double right = grid.i_negative() ? -1 : 1, up = grid.j_positive() ? 1 : -1;
  Line x{grid.x1, right * grid.di.value_or(0)}, y{grid.y1, up * grid.dj.value_or(0)};
  if (!grid.di || !grid.dj) return;
  if (projection) {
    const MapPoint first = projection->Forward({grid.first_latitude, grid.first_longitude});
    x.first = first.x;
    y.first = first.y;
    axes.mapping = projection->Mapping();
  } else if (grid.kind != Kind::kTransverseMercator) {
    return;
  }
  if (!std::isfinite(x.first) || !std::isfinite(y.first)) return;
  AddLine(axes, 0, y, MapAttributes(false, false));
  AddLine(axes, 1, x, MapAttributes(true, false));
  if (projection) AddPlaces(axes, projection, x, y);
}

void DescribeTransverse(const GribGrid& grid, GridAxes& axes) {
  axes.mapping = {TextOf("grid_mapping_name", "transverse_mercator"),
                  NumberOf("semi_major_axis", grid.major_axis),
                  NumberOf("semi_minor_axis", grid.minor_axis),
                  NumberOf("longitude_of_central_meridian", grid.orientation_longitude),
                  NumberOf("latitude_of_projection_origin", grid.standard_latitude),
                  NumberOf("scale_factor_at_central_meridian", grid.scale),
                  NumberOf("false_easting", grid.false_x),
                  NumberOf("false_northing", grid.false_y)};
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
  const auto projection = MakeProjection(grid);
  AddLine(axes, 0, *rows, MapAttributes(false, true));
  AddLine(axes, 1, columns, MapAttributes(true, true));
  if (!projection) return;
  axes.mapping = projection->Mapping();
  AddPlaces(axes, projection, columns, *rows);
}

// Rows of different lengths: a dimension of all points.
void DescribeReduced(const std::shared_ptr<const GribGrid>& grid, GridAxes& axes) {
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

}  // namespace

GridAxes DescribeGrid(const std::shared_ptr<const GribGrid>& grid, uint64_t points) {
  GridAxes axes;
  axes.type = TypeOf(grid.get());
  axes.dims = {{"values", points}};
  if (!grid) return axes;
  axes.attributes = KeysOf(*grid);
  if (grid->is_reduced() && IsGeographic(*grid)) {
    DescribeReduced(grid, axes);
    return axes;
  }
  // The product of two numbers of 32 bits.
  if (grid->ni == 0 || grid->nj == 0 || points / grid->ni != grid->nj ||
      points % grid->ni != 0) {
    return axes;
  }
  axes.dims = {{"y", grid->nj}, {"x", grid->ni}};
  if (grid->has_offset_points()) return axes;
  if (IsGeographic(*grid)) {
    DescribeRegular(*grid, axes);
  } else {
    if (grid->kind == Kind::kTransverseMercator) DescribeTransverse(*grid, axes);
    DescribeProjected(*grid, axes);
  }
  return axes;
}

}  // namespace ndlfs::backends::grib
