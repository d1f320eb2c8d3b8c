// SPDX-License-Identifier: MIT
//
// Where the points of grids are that have no columns and rows, or a projection. Numbers without
// a remark are those of eccodes 2.28, of HEALPix those of healpy 1.16.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "backends/codec/grib/coordinates.h"
#include "backends/codec/grib/grid.h"
#include "backends/codec/grib/projection.h"
#include "tests/backends/codec/codec_testing.h"

namespace ndlfs::backends {
namespace {

using model::ErrorCode;
using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

constexpr double kDegree = 1'000'000;

// Octets of a section, big-endian.
class SectionText {
 public:
  SectionText& Put(uint64_t value, int octets) {
    for (int i = octets; i-- > 0;)
      text_ += static_cast<char>(i < 8 ? value >> 8 * i & 0xff : 0);
    return *this;
  }
  // Sign and magnitude.
  SectionText& Degrees(double degrees) {
    const auto magnitude = static_cast<uint64_t>(std::llround(std::abs(degrees) * kDegree));
    return Put(magnitude | (degrees < 0 ? uint64_t{1} << 31 : 0), 4);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Section 3 up to its template, on a sphere.
SectionText GridHead(uint16_t number, uint32_t points, uint8_t list_octets = 0) {
  SectionText head;
  head.Put(0, 4).Put(3, 1).Put(0, 1).Put(points, 4).Put(list_octets, 1).Put(0, 1);
  return head.Put(number, 2).Put(6, 1).Put(0, 15);
}

model::Result<std::shared_ptr<const GribGrid>> Parse(const SectionText& section) {
  std::vector<std::byte> bytes;
  for (const char c : section.text()) bytes.push_back(static_cast<std::byte>(c));
  return ParseGribGrid2(std::make_shared<const std::vector<std::byte>>(std::move(bytes)));
}

std::vector<double> PlacesOf(const GribGrid& grid, GribCoordinate coordinate) {
  std::vector<double> points(grid.points);
  const auto status = GribPoints(grid, coordinate, points);
  EXPECT_TRUE(status) << status.error().message();
  return points;
}

SectionText HealpixSection(uint32_t nside, uint8_t order, uint32_t points) {
  SectionText section = GridHead(150, points);
  return section.Put(0, 1).Put(nside, 4).Degrees(45).Put(4, 1).Put(order, 1).Put(0, 1);
}

TEST(GribPlacesTest, HealpixComesInRingsOrNested) {
  const std::vector<size_t> numbers = {0, 1, 5, 13, 20, 30, 47};
  const auto some = [&](const std::vector<double>& all) {
    std::vector<double> chosen;
    for (const size_t i : numbers) chosen.push_back(all[i]);
    return chosen;
  };
  const auto rings = Parse(HealpixSection(2, 0, 48)).value();
  EXPECT_THAT(some(PlacesOf(*rings, GribCoordinate::kLatitude)),
              Pointwise(DoubleNear(1e-6), {66.443536, 66.443536, 41.810315, 19.471221, 0.0,
                                           -19.471221, -66.443536}));
  EXPECT_THAT(some(PlacesOf(*rings, GribCoordinate::kLongitude)),
              Pointwise(DoubleNear(1e-9), {45.0, 135.0, 67.5, 45.0, 22.5, 90.0, 315.0}));
  const auto nested = Parse(HealpixSection(2, 1, 48)).value();
  EXPECT_THAT(some(PlacesOf(*nested, GribCoordinate::kLatitude)),
              Pointwise(DoubleNear(1e-6), {19.471221, 41.810315, 41.810315, 41.810315,
                                           -19.471221, 0.0, -19.471221}));
  EXPECT_THAT(some(PlacesOf(*nested, GribCoordinate::kLongitude)),
              Pointwise(DoubleNear(1e-9), {45.0, 67.5, 157.5, 337.5, 90.0, 247.5, 315.0}));
}

TEST(GribPlacesTest, HealpixOfOtherOrdersHasNoPlaces) {
  // Of another order, of a side that is no power of two, of other points.
  for (const auto& section :
       {HealpixSection(2, 2, 48), HealpixSection(3, 1, 108), HealpixSection(2, 0, 47),
        HealpixSection(0, 0, 0), HealpixSection(UINT32_MAX, 0, 12)}) {
    const auto grid = Parse(section).value();
    EXPECT_FALSE(HasGribPoints(*grid));
    std::vector<double> out(grid->points);
    EXPECT_THAT(
        FailureOf(GribPoints(*grid, GribCoordinate::kLatitude, out), ErrorCode::kUnsupported),
        HasSubstr("coordinates of the grid 150"));
  }
}

struct SatelliteNumbers {
  uint32_t ni = 15, nj = 18;
  uint32_t column = 1233500, row = 1725000;
  uint8_t scan = 0xc0;
  uint32_t distance = 42164000;
  double latitude = 0, orientation = 0;
  uint32_t across = 3210;
};

SectionText SatelliteSection(const SatelliteNumbers& numbers) {
  SectionText section;
  section.Put(0, 4).Put(3, 1).Put(0, 1).Put(numbers.ni * numbers.nj, 4).Put(0, 2).Put(90, 2);
  section.Put(3, 1).Put(0, 5).Put(4, 1).Put(63781688, 4).Put(4, 1).Put(63565840, 4);
  section.Put(numbers.ni, 4).Put(numbers.nj, 4).Degrees(numbers.latitude).Degrees(-75);
  section.Put(0, 1).Put(numbers.across, 4).Put(3212, 4).Put(numbers.column, 4);
  section.Put(numbers.row, 4).Put(numbers.scan, 1).Degrees(numbers.orientation);
  return section.Put(numbers.distance, 4).Put(2077, 4).Put(1580, 4);
}

// eccodes begins at the north west, whatever the scan mode says; GDAL turns the values.
TEST(GribPlacesTest, SatelliteSeesFromItsScanMode) {
  const auto grid = Parse(SatelliteSection({})).value();
  EXPECT_EQ(grid->kind, GribGridKind::kSpaceView);
  const auto latitudes = PlacesOf(*grid, GribCoordinate::kLatitude);
  const auto longitudes = PlacesOf(*grid, GribCoordinate::kLongitude);
  EXPECT_NEAR(latitudes[0], -5.09308474, 1e-7);
  EXPECT_NEAR(latitudes[1], -5.09313166, 1e-7);
  EXPECT_NEAR(latitudes.back(), -4.495152994412275, 1e-9);
  EXPECT_NEAR(longitudes[0], 253.8673992, 1e-7);
  EXPECT_NEAR(longitudes[1], 253.82604294, 1e-7);
  EXPECT_NEAR(longitudes.back(), 253.31831005941066, 1e-9);
}

TEST(GribPlacesTest, WhatIsBesideTheEarthIsNoPlace) {
  const auto grid = Parse(SatelliteSection({.column = 4'000'000'000})).value();
  for (const auto coordinate : {GribCoordinate::kLatitude, GribCoordinate::kLongitude}) {
    EXPECT_THAT(PlacesOf(*grid, coordinate), Each(::testing::IsNan()));
  }
}

TEST(GribPlacesTest, OtherViewsHaveNoPlaces) {
  const SatelliteNumbers views[] = {
      {.distance = UINT32_MAX},                           // orthographic
      {.distance = 0},          {.distance = 1'000'000},  // on the ground
      {.latitude = 1},          {.orientation = 180},    {.across = 0}};
  for (const SatelliteNumbers& numbers : views) {
    const auto grid = Parse(SatelliteSection(numbers)).value();
    EXPECT_EQ(grid->ni, 15u);
    EXPECT_FALSE(HasGribPoints(*grid));
  }
}

SectionText GaussianSection(uint32_t points, std::vector<uint16_t> rows, double north,
                            double south, double west, double east) {
  SectionText section = GridHead(40, points, 2);
  section.Put(UINT32_MAX, 4).Put(rows.size(), 4).Put(0, 4).Put(UINT32_MAX, 4);
  section.Degrees(north).Degrees(west).Put(0, 1).Degrees(south).Degrees(east);
  section.Put(UINT32_MAX, 4).Put(32, 4).Put(0, 1);
  for (const uint16_t row : rows) section.Put(row, 2);
  return section;
}

TEST(GribPlacesTest, PartsOfReducedGridsAreMultiplesOfTheirSteps) {
  const auto grid = Parse(GaussianSection(8, {45, 40}, -76.7369, -79.525607, 180, 210)).value();
  EXPECT_THAT(grid->row_points, ElementsAre(4, 4));
  EXPECT_THAT(grid->circle_points, ElementsAre(45, 40));
  EXPECT_THAT(
      PlacesOf(*grid, GribCoordinate::kLongitude),
      Pointwise(DoubleNear(1e-9), {184.0, 192.0, 200.0, 208.0, 180.0, 189.0, 198.0, 207.0}));
  EXPECT_THAT(PlacesOf(*grid, GribCoordinate::kLatitude)[4], DoubleNear(-79.525607, 1e-6));
}

TEST(GribPlacesTest, PartsAcrossTheMeridianGoOn) {
  const auto grid =
      Parse(GaussianSection(10, {128, 128}, 15.348365, 12.557756, -9.375, 4)).value();
  EXPECT_THAT(PlacesOf(*grid, GribCoordinate::kLongitude),
              ElementsAre(351.5625, 354.375, 357.1875, 360.0, 362.8125, 351.5625, 354.375,
                          357.1875, 360.0, 362.8125));
}

TEST(GribPlacesTest, RowsOfAPartOfAReducedLatLonGridAreEven) {
  GribGrid grid;
  grid.kind = GribGridKind::kLatLon;
  grid.nj = 2;
  grid.row_points = {2, 4};
  grid.points = 6;
  grid.first_longitude = -30;
  grid.last_longitude = 60;
  EXPECT_THAT(PlacesOf(grid, GribCoordinate::kLongitude), ElementsAre(-30, 60, -30, 0, 30, 60));
}

// Files lie. Angles of so many turns say nothing, and the values are a list.
TEST(GribPlacesTest, AnglesOfManyTurnsAreNotBelieved) {
  SectionText section = GridHead(0, 4);
  section.Put(2, 4).Put(2, 4).Put(UINT32_MAX - 1, 4).Put(1, 4);  // units of billions of degrees
  section.Degrees(60).Degrees(1000).Put(0, 1).Degrees(50).Degrees(-1000);
  section.Put(1, 4).Put(1, 4).Put(0, 1);
  const auto grid = Parse(section).value();
  EXPECT_EQ(grid->kind, GribGridKind::kOther);
  EXPECT_EQ(grid->ni, 0u);
  EXPECT_EQ(grid->points, 4u);
}

TEST(GribPlacesTest, RotationThatIsNoNumberIsNotBelieved) {
  SectionText section = GridHead(1, 4);
  section.Put(2, 4).Put(2, 4).Put(0, 4).Put(UINT32_MAX, 4);
  section.Degrees(60).Degrees(10).Put(0, 1).Degrees(50).Degrees(20);
  section.Put(1, 4).Put(1, 4).Put(0, 1).Degrees(-30).Degrees(0).Put(0x7fc00000, 4);
  EXPECT_EQ(Parse(section).value()->kind, GribGridKind::kOther);
}

// Each row looks at itself alone: a million rows take a moment.
TEST(GribPlacesTest, ManyRowsOfOnePointAreRead) {
  constexpr uint32_t kRows = 500'000;
  SectionText section = GridHead(0, kRows, 1);
  section.Put(UINT32_MAX, 4).Put(kRows, 4).Put(0, 4).Put(UINT32_MAX, 4);
  section.Degrees(90).Degrees(0).Put(0, 1).Degrees(-90).Degrees(359);
  section.Put(UINT32_MAX, 4).Put(UINT32_MAX, 4).Put(0, 1);
  for (uint32_t i = 0; i < kRows; ++i) section.Put(1, 1);
  const auto grid = Parse(section).value();
  EXPECT_EQ(grid->nj, kRows);
  EXPECT_EQ(PlacesOf(*grid, GribCoordinate::kLatitude).size(), kRows);
}

GribGrid MapGrid(GribGridKind kind) {
  GribGrid grid;
  grid.kind = kind;
  grid.major_axis = grid.minor_axis = 6371229;
  grid.standard_latitude = 38.5;
  grid.orientation_longitude = 262.5;
  grid.latin1 = grid.latin2 = 38.5;
  return grid;
}

// The first point of the grid of HRRR, as its users know it.
TEST(GribProjectionTest, LambertIsThatOfHrrr) {
  const auto lambert = MakeGribProjection(MapGrid(GribGridKind::kLambert));
  ASSERT_NE(lambert, nullptr);
  const GribMapPoint point = lambert->Forward({21.138123, 237.280472});
  EXPECT_NEAR(point.x, -2697520.14, 0.01);
  EXPECT_NEAR(point.y, -1587306.15, 0.01);
}

TEST(GribProjectionTest, InverseUndoesForward) {
  for (const GribGridKind kind :
       {GribGridKind::kLambert, GribGridKind::kPolarStereographic, GribGridKind::kMercator,
        GribGridKind::kAlbers, GribGridKind::kLambertAzimuthal, GribGridKind::kRotatedLatLon,
        GribGridKind::kSpaceView}) {
    for (const double minor : {6371229.0, 6356752.3}) {
      GribGrid grid = MapGrid(kind);
      grid.major_axis = minor < 6.36e6 ? 6378137 : minor;
      grid.minor_axis = minor;
      grid.latin2 = 50;
      grid.south_pole_latitude = -30;
      if (kind == GribGridKind::kSpaceView) grid.standard_latitude = 0;
      grid.satellite_distance = 6.61;
      const auto projection = MakeGribProjection(grid);
      ASSERT_NE(projection, nullptr) << static_cast<int>(kind);
      const GribPlace place = projection->Inverse(projection->Forward({47.25, -71.5}));
      EXPECT_NEAR(place.latitude, 47.25, 1e-7) << static_cast<int>(kind);
      EXPECT_NEAR(place.longitude, -71.5, 1e-7) << static_cast<int>(kind);
    }
  }
}

TEST(GribProjectionTest, ConesThatAreNoneHaveNoProjection) {
  GribGrid grid = MapGrid(GribGridKind::kLambert);
  grid.latin2 = -grid.latin1;
  EXPECT_EQ(MakeGribProjection(grid), nullptr);
  grid = MapGrid(GribGridKind::kMercator);
  grid.major_axis = grid.minor_axis = 0;
  EXPECT_EQ(MakeGribProjection(grid), nullptr);
}

}  // namespace
}  // namespace ndlfs::backends
