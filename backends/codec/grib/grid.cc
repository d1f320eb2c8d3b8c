// SPDX-License-Identifier: MIT
//
// Grid definitions: section 3 of GRIB 2 with its templates 3.N, and section 2 of GRIB 1.
#include "backends/codec/grib/grid.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "backends/base/checked.h"
#include "backends/codec/grib/octets.h"

namespace ndlfs::backends {
namespace {

constexpr double kMicro = 1e-6, kMilli = 1e-3, kCenti = 1e-2;
// IAU 1965, in metres. The tables of the Manual say f = 1/297.0, too, which contradicts both
// axes.
constexpr double kIauMajor = 6378160, kIauMinor = 6356775;

// A number of octets 16 to 30: its decimal scale, then the number.
double Scaled(const GribOctets& in, size_t octet, double unit) {
  const auto scale = static_cast<int>(in.Signed(octet, 1));
  return unit * static_cast<double>(in.U32(octet + 1)) * std::pow(10.0, -scale);
}

void SetSphere(double radius, GribGrid& grid) { grid.major_axis = grid.minor_axis = radius; }

void SetEllipsoid(double major, double minor, GribGrid& grid) {
  grid.major_axis = major;
  grid.minor_axis = minor;
}

// Code table 3.2.
void ReadEarth(const GribOctets& in, GribGrid& grid) {
  grid.earth_shape = in.U8(15);
  switch (grid.earth_shape) {
    case 1:
      return SetSphere(Scaled(in, 16, 1), grid);
    case 2:
      return SetEllipsoid(kIauMajor, kIauMinor, grid);
    case 3:
      return SetEllipsoid(Scaled(in, 21, 1000), Scaled(in, 26, 1000), grid);
    case 4:
      return SetEllipsoid(6378137, 6378137 * (1 - 1 / 298.257222101), grid);
    case 5:
      return SetEllipsoid(6378137, 6378137 * (1 - 1 / 298.257223563), grid);
    case 6:
      return SetSphere(6371229, grid);
    case 7:
      return SetEllipsoid(Scaled(in, 21, 1), Scaled(in, 26, 1), grid);
    case 8:
      return SetSphere(6371200, grid);
    case 9:
      return SetEllipsoid(6377563.396, 6356256.909, grid);
    default:
      return SetSphere(6367470, grid);
  }
}

uint64_t Count(const GribOctets& in, size_t octet, size_t octets) {
  return in.IsMissing(octet, octets) ? 0 : in.Unsigned(octet, octets);
}

std::optional<double> Increment(const GribOctets& in, size_t octet, size_t octets,
                                double unit) {
  if (in.IsMissing(octet, octets)) return std::nullopt;
  return unit * static_cast<double>(in.Unsigned(octet, octets));
}

// Templates 3.0, 3.1, 3.40 and 3.41. Angles are in units of a basic angle that is mostly 1e-6.
void ReadLatLon(const GribOctets& in, GribGrid& grid) {
  const bool is_gaussian =
      grid.kind == GribGridKind::kGaussian || grid.kind == GribGridKind::kRotatedGaussian;
  grid.ni = Count(in, 31, 4);
  grid.nj = Count(in, 35, 4);
  const uint64_t angle = Count(in, 39, 4), parts = Count(in, 43, 4);
  const double unit = angle == 0 || parts == 0
                          ? kMicro
                          : static_cast<double>(angle) / static_cast<double>(parts);
  grid.first_latitude = unit * static_cast<double>(in.Signed(47, 4));
  grid.first_longitude = unit * static_cast<double>(in.Signed(51, 4));
  grid.component_flags = in.U8(55);
  grid.last_latitude = unit * static_cast<double>(in.Signed(56, 4));
  grid.last_longitude = unit * static_cast<double>(in.Signed(60, 4));
  grid.di = Increment(in, 64, 4, unit);
  if (is_gaussian) {
    grid.parallels = in.U32(68);
  } else {
    grid.dj = Increment(in, 68, 4, unit);
  }
  grid.scan_mode = in.U8(72);
  if (grid.kind == GribGridKind::kLatLon || grid.kind == GribGridKind::kGaussian) return;
  grid.south_pole_latitude = unit * static_cast<double>(in.Signed(73, 4));
  grid.south_pole_longitude = unit * static_cast<double>(in.Signed(77, 4));
  grid.rotation = in.Ieee(81);
}

// Where projections have columns, rows and the first point.
void ReadFirstPoint(const GribOctets& in, GribGrid& grid) {
  grid.ni = Count(in, 31, 4);
  grid.nj = Count(in, 35, 4);
  grid.first_latitude = kMicro * static_cast<double>(in.Signed(39, 4));
  grid.first_longitude = kMicro * static_cast<double>(in.Signed(43, 4));
}

void ReadMercator(const GribOctets& in, GribGrid& grid) {
  ReadFirstPoint(in, grid);
  grid.component_flags = in.U8(47);
  grid.standard_latitude = kMicro * static_cast<double>(in.Signed(48, 4));
  grid.last_latitude = kMicro * static_cast<double>(in.Signed(52, 4));
  grid.last_longitude = kMicro * static_cast<double>(in.Signed(56, 4));
  grid.scan_mode = in.U8(60);
  grid.rotation = kMicro * static_cast<double>(in.Signed(61, 4));
  grid.di = Increment(in, 65, 4, kMilli);
  grid.dj = Increment(in, 69, 4, kMilli);
}

void ReadTransverseMercator(const GribOctets& in, GribGrid& grid) {
  grid.ni = Count(in, 31, 4);
  grid.nj = Count(in, 35, 4);
  grid.standard_latitude = kMicro * static_cast<double>(in.Signed(39, 4));
  grid.orientation_longitude = kMicro * static_cast<double>(in.Signed(43, 4));
  grid.component_flags = in.U8(47);
  grid.scale = in.Ieee(48);
  grid.false_x = kCenti * static_cast<double>(in.Signed(52, 4));
  grid.false_y = kCenti * static_cast<double>(in.Signed(56, 4));
  grid.scan_mode = in.U8(60);
  grid.di = Increment(in, 61, 4, kCenti);
  grid.dj = Increment(in, 65, 4, kCenti);
  grid.x1 = kCenti * static_cast<double>(in.Signed(69, 4));
  grid.y1 = kCenti * static_cast<double>(in.Signed(73, 4));
  grid.x2 = kCenti * static_cast<double>(in.Signed(77, 4));
  grid.y2 = kCenti * static_cast<double>(in.Signed(81, 4));
}

// Templates 3.20, 3.30 and 3.31.
void ReadConic(const GribOctets& in, GribGrid& grid) {
  ReadFirstPoint(in, grid);
  grid.component_flags = in.U8(47);
  grid.standard_latitude = kMicro * static_cast<double>(in.Signed(48, 4));
  grid.orientation_longitude = kMicro * static_cast<double>(in.Signed(52, 4));
  grid.di = Increment(in, 56, 4, kMilli);
  grid.dj = Increment(in, 60, 4, kMilli);
  grid.is_south_pole_projected = (in.U8(64) & 0x80) != 0;
  grid.scan_mode = in.U8(65);
  if (grid.kind == GribGridKind::kPolarStereographic) return;
  grid.latin1 = kMicro * static_cast<double>(in.Signed(66, 4));
  grid.latin2 = kMicro * static_cast<double>(in.Signed(70, 4));
  grid.south_pole_latitude = kMicro * static_cast<double>(in.Signed(74, 4));
  grid.south_pole_longitude = kMicro * static_cast<double>(in.Signed(78, 4));
}

void ReadLambertAzimuthal(const GribOctets& in, GribGrid& grid) {
  ReadFirstPoint(in, grid);
  grid.standard_latitude = kMicro * static_cast<double>(in.Signed(47, 4));
  grid.orientation_longitude = kMicro * static_cast<double>(in.Signed(51, 4));
  grid.component_flags = in.U8(55);
  grid.di = Increment(in, 56, 4, kMilli);
  grid.dj = Increment(in, 60, 4, kMilli);
  grid.scan_mode = in.U8(64);
}

void ReadSpaceView(const GribOctets& in, GribGrid& grid) {
  grid.ni = Count(in, 31, 4);
  grid.nj = Count(in, 35, 4);
  grid.standard_latitude = kMicro * static_cast<double>(in.Signed(39, 4));
  grid.orientation_longitude = kMicro * static_cast<double>(in.Signed(43, 4));
  grid.component_flags = in.U8(47);
  grid.scan_mode = in.U8(64);
  grid.rotation = kMicro * static_cast<double>(in.Signed(65, 4));
  grid.satellite_distance = kMicro * static_cast<double>(Count(in, 69, 4));
  const double across = in.U32(48), up = in.U32(52);  // steps that the earth is wide and high
  if (across == 0 || up == 0 || grid.satellite_distance <= 1) return;
  const double angle = 2 * std::asin(1 / grid.satellite_distance);
  grid.di = angle / across;
  grid.dj = angle / up * (grid.minor_axis / grid.major_axis);
  // The point below the satellite and the first one are counted in the direction of the rows
  // and columns.
  const double column = kMilli * in.U32(56) - in.U32(73),
               row = kMilli * in.U32(60) - in.U32(77);
  grid.x1 = (grid.i_negative() ? column : -column) * *grid.di;
  grid.y1 = (grid.j_positive() ? -row : row) * *grid.dj;
}

void ReadHealpix(const GribOctets& in, GribGrid& grid) {
  constexpr uint32_t kFirstLongitude = 45'000'000, kMostNside = 18918;  // 2^32 points
  constexpr unsigned kCentre = 4, kRings = 0, kNested = 1;
  const uint32_t nside = in.U32(32);
  const unsigned order = in.U8(41);
  const bool is_usual = in.U32(36) == kFirstLongitude && in.U8(40) == kCentre &&
                        order <= kNested && in.U8(42) == 0;
  if (!is_usual || nside == 0 || nside > kMostNside ||
      uint64_t{12} * nside * nside != grid.points ||
      (order != kRings && !std::has_single_bit(nside))) {
    return;
  }
  grid.nside = nside;
  grid.is_nested = order == kNested;
}

GribGridKind KindOfTemplate(uint16_t number) {
  using Kind = GribGridKind;
  switch (number) {
    case 0:
      return Kind::kLatLon;
    case 1:
      return Kind::kRotatedLatLon;
    case 10:
      return Kind::kMercator;
    case 12:
      return Kind::kTransverseMercator;
    case 20:
      return Kind::kPolarStereographic;
    case 30:
      return Kind::kLambert;
    case 31:
      return Kind::kAlbers;
    case 40:
      return Kind::kGaussian;
    case 41:
      return Kind::kRotatedGaussian;
    case 90:
      return Kind::kSpaceView;
    case 101:
      return Kind::kUnstructured;
    case 140:
      return Kind::kLambertAzimuthal;
    case 150:
      return Kind::kHealpix;
    default:
      return Kind::kOther;
  }
}

void ReadTemplate(const GribOctets& in, GribGrid& grid) {
  using Kind = GribGridKind;
  grid.kind = KindOfTemplate(grid.template_number);
  if (grid.kind == Kind::kOther || grid.kind == Kind::kUnstructured) return;
  ReadEarth(in, grid);
  switch (grid.kind) {
    case Kind::kMercator:
      return ReadMercator(in, grid);
    case Kind::kTransverseMercator:
      return ReadTransverseMercator(in, grid);
    case Kind::kPolarStereographic:
    case Kind::kLambert:
    case Kind::kAlbers:
      return ReadConic(in, grid);
    case Kind::kSpaceView:
      return ReadSpaceView(in, grid);
    case Kind::kLambertAzimuthal:
      return ReadLambertAzimuthal(in, grid);
    case Kind::kHealpix:
      return ReadHealpix(in, grid);
    default:
      return ReadLatLon(in, grid);
  }
}

bool IsRotated(const GribGrid& grid) {
  return grid.kind == GribGridKind::kRotatedLatLon ||
         grid.kind == GribGridKind::kRotatedGaussian;
}

bool IsGaussian(const GribGrid& grid) {
  return grid.kind == GribGridKind::kGaussian || grid.kind == GribGridKind::kRotatedGaussian;
}

// Whether angles are some turns at most, so that loops and numbers of points that follow from
// them are limited.
bool HasPossibleAngles(const GribGrid& grid) {
  constexpr double kMost = 3600;
  const double angles[] = {
      grid.first_latitude, grid.first_longitude,     grid.last_latitude,
      grid.last_longitude, grid.south_pole_latitude, grid.south_pole_longitude,
      grid.rotation,       grid.di.value_or(0),      grid.dj.value_or(0)};
  return std::ranges::all_of(angles, [](double angle) { return std::abs(angle) <= kMost; });
}

// Makes numbers of points around the earth those between the first and the last longitude, as
// ECMWF writes parts of reduced grids.
void CutRows(GribGrid& grid) {
  std::vector<uint32_t> cut;
  for (const uint32_t points : grid.row_points) cut.push_back(CutGribRow(grid, points).points);
  if (cut == grid.row_points) return;
  grid.circle_points = std::exchange(grid.row_points, std::move(cut));
}

uint64_t SumOfRows(const GribGrid& grid) {
  return std::accumulate(grid.row_points.begin(), grid.row_points.end(), uint64_t{0});
}

// The list of the points of each row, which ends the section: numbers of `octets` octets.
model::Result<void> ReadRowPoints(const GribOctets& in, size_t first_octet, size_t octets,
                                  GribGrid& grid) {
  if (octets > 4) return model::Corrupt("a grid: numbers of {} octets", octets);
  const uint64_t room = in.size() < first_octet - 1 ? 0 : in.size() - (first_octet - 1);
  if (grid.nj == 0 || grid.nj > room / octets) {
    return model::Corrupt("a grid: {} rows, but a list of {} octets", grid.nj, room);
  }
  grid.row_points.resize(grid.nj);
  for (uint64_t j = 0; j < grid.nj; ++j) {
    grid.row_points[j] = static_cast<uint32_t>(in.Unsigned(first_octet + j * octets, octets));
  }
  grid.ni = 0;
  if (grid.edition == 1) {
    if (IsGaussian(grid)) CutRows(grid);
    grid.points = SumOfRows(grid);
  } else if (IsGaussian(grid) && SumOfRows(grid) != grid.points) {
    CutRows(grid);
  }
  const uint64_t sum = SumOfRows(grid);
  if (sum == grid.points && sum != 0) return {};
  return model::Corrupt("a grid: rows of {} points, but {} points", sum, grid.points);
}

// Numbers of columns and rows that contradict the number of points are no rows: then the values
// are only a list.
void CheckPoints(GribGrid& grid) {
  if (grid.is_reduced()) return;
  const auto product = CheckedMultiply(grid.ni, grid.nj);
  if (grid.edition == 1) grid.points = product.value_or(0);
  if (product == grid.points && product != 0) return;
  grid.ni = grid.nj = 0;
  const bool has_no_rows =
      grid.kind == GribGridKind::kUnstructured || grid.kind == GribGridKind::kHealpix;
  if (!has_no_rows) grid.kind = GribGridKind::kOther;
}

double Angle1(const GribOctets& in, size_t octet) {
  return kMilli * static_cast<double>(in.Signed(octet, 3));
}

void ReadLatLon1(const GribOctets& in, GribGrid& grid) {
  grid.last_latitude = Angle1(in, 18);
  grid.last_longitude = Angle1(in, 21);
  grid.di = Increment(in, 24, 2, kMilli);
  if (grid.kind == GribGridKind::kGaussian || grid.kind == GribGridKind::kRotatedGaussian) {
    grid.parallels = in.U16(26);
  } else {
    grid.dj = Increment(in, 26, 2, kMilli);
  }
  if (grid.kind == GribGridKind::kLatLon || grid.kind == GribGridKind::kGaussian) return;
  grid.south_pole_latitude = Angle1(in, 33);
  grid.south_pole_longitude = Angle1(in, 36);
  grid.rotation = in.Ibm(39);
}

void ReadMercator1(const GribOctets& in, GribGrid& grid) {
  grid.last_latitude = Angle1(in, 18);
  grid.last_longitude = Angle1(in, 21);
  grid.standard_latitude = Angle1(in, 24);
  grid.di = Increment(in, 29, 3, 1);
  grid.dj = Increment(in, 32, 3, 1);
}

void ReadConic1(const GribOctets& in, GribGrid& grid) {
  grid.orientation_longitude = Angle1(in, 18);
  grid.di = Increment(in, 21, 3, 1);
  grid.dj = Increment(in, 24, 3, 1);
  grid.is_south_pole_projected = (in.U8(27) & 0x80) != 0;
  // Increments of edition 1 are true at 60 degrees, on the side of the projection.
  grid.standard_latitude = grid.is_south_pole_projected ? -60 : 60;
  if (grid.kind == GribGridKind::kPolarStereographic) return;
  grid.latin1 = Angle1(in, 29);
  grid.latin2 = Angle1(in, 32);
  grid.standard_latitude = grid.latin1;
  grid.south_pole_latitude = Angle1(in, 35);
  grid.south_pole_longitude = Angle1(in, 38);
}

GribGridKind KindOfType1(uint16_t type) {
  using Kind = GribGridKind;
  switch (type) {
    case 0:
      return Kind::kLatLon;
    case 1:
      return Kind::kMercator;
    case 3:
    case 13:
      return Kind::kLambert;
    case 4:
      return Kind::kGaussian;
    case 5:
      return Kind::kPolarStereographic;
    case 10:
      return Kind::kRotatedLatLon;
    case 14:
      return Kind::kRotatedGaussian;
    case 90:
      return Kind::kSpaceView;
    default:
      return Kind::kOther;
  }
}

void ReadKind1(const GribOctets& in, GribGrid& grid) {
  using Kind = GribGridKind;
  switch (grid.kind) {
    case Kind::kMercator:
      return ReadMercator1(in, grid);
    case Kind::kLambert:
    case Kind::kPolarStereographic:
      return ReadConic1(in, grid);
    case Kind::kSpaceView:
      return;
    default:
      return ReadLatLon1(in, grid);
  }
}

}  // namespace

model::Result<std::shared_ptr<const GribGrid>> ParseGribGrid2(GribSection section) {
  auto grid = std::make_shared<GribGrid>();
  grid->section = std::move(section);
  const GribOctets in(*grid->section);
  grid->points = in.U32(7);
  const uint8_t list_octets = in.U8(11);
  grid->template_number = in.U16(13);
  if (in.U8(6) != 0) grid->template_number = UINT16_MAX;  // not of the Manual's templates
  ReadTemplate(in, *grid);
  if (in.is_short()) {
    return model::Corrupt("a grid: {} octets are too few for template 3.{}", in.size(),
                          grid->template_number);
  }
  const bool has_rows = IsRotated(*grid) || grid->kind == GribGridKind::kLatLon ||
                        grid->kind == GribGridKind::kGaussian;
  if (has_rows && !HasPossibleAngles(*grid)) {
    grid->kind = GribGridKind::kOther;
    grid->ni = grid->nj = 0;
  } else if (list_octets != 0 && has_rows) {
    NDLFS_RETURN_IF_ERROR(ReadRowPoints(in, IsRotated(*grid) ? 85 : 73, list_octets, *grid));
  }
  CheckPoints(*grid);
  return grid;
}

model::Result<std::shared_ptr<const GribGrid>> ParseGribGrid1(GribSection section) {
  auto grid = std::make_shared<GribGrid>();
  grid->section = std::move(section);
  const GribOctets in(*grid->section);
  grid->edition = 1;
  const uint8_t vertical = in.U8(4), lists = in.U8(5);
  grid->template_number = in.U8(6);
  grid->kind = KindOfType1(grid->template_number);
  if (grid->kind == GribGridKind::kOther) return grid;
  grid->ni = Count(in, 7, 2);
  grid->nj = Count(in, 9, 2);
  grid->first_latitude = Angle1(in, 11);
  grid->first_longitude = Angle1(in, 14);
  grid->component_flags = in.U8(17);
  if ((grid->component_flags & 0x40) != 0) {
    grid->earth_shape = 2;
    SetEllipsoid(kIauMajor, kIauMinor, *grid);
  }
  grid->scan_mode = in.U8(28) & 0xe0;
  ReadKind1(in, *grid);
  if (in.is_short()) {
    return model::Corrupt("a grid: {} octets are too few for type {}", in.size(),
                          grid->template_number);
  }
  if (grid->ni == 0 && lists != 255 && lists > 28) {
    NDLFS_RETURN_IF_ERROR(ReadRowPoints(in, lists + size_t{4} * vertical, 2, *grid));
  }
  CheckPoints(*grid);
  return grid;
}

GribRowPart CutGribRow(const GribGrid& grid, uint32_t circle) {
  if (circle == 0) return {};
  const double tolerance = grid.edition == 1 ? 1.5e-3 : 1.5e-6;
  const double first = grid.first_longitude, step = 360.0 / circle;
  double span = std::fmod(grid.last_longitude - first, 360.0);
  if (span < 0) span += 360;
  const double from = std::ceil((first - tolerance) / step);
  if (grid.last_longitude - first + step > 360 - tolerance || span + step > 360 - tolerance) {
    return {static_cast<int64_t>(from), circle};
  }
  const double count = std::floor((first + span + tolerance) / step) - from + 1;
  return {static_cast<int64_t>(from),
          static_cast<uint32_t>(std::clamp<double>(count, 0, circle))};
}

}  // namespace ndlfs::backends
