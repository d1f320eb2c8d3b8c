// SPDX-License-Identifier: MIT
//
// Where the points of grids are that have no columns and rows, or a projection. Numbers without
// a remark are those of eccodes 2.28, of HEALPix those of healpy 1.16.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
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

// Code table 3.2. Scaled numbers: 6371.5 km as a radius, and axes in kilometres and in metres.
TEST(GribPlacesTest, EarthsAreThoseOfTheCodeTable) {
  const auto axes = [](uint8_t shape) {
    SectionText section;
    section.Put(0, 4).Put(3, 1).Put(0, 1).Put(1, 4).Put(0, 2).Put(0, 2).Put(shape, 1);
    section.Put(1, 1).Put(63715000, 4);
    if (shape == 3) {
      section.Put(2, 1).Put(637815, 4).Put(3, 1).Put(6356750, 4);
    } else {
      section.Put(1, 1).Put(63781500, 4).Put(0, 1).Put(6356750, 4);
    }
    section.Put(1, 4).Put(1, 4).Put(0, 40);
    const auto grid = Parse(section).value();
    EXPECT_EQ(grid->earth_shape, shape);
    return std::vector<double>{grid->major_axis, grid->minor_axis};
  };
  const auto are = [](double major, double minor) {
    return ElementsAre(DoubleNear(major, 1e-3), DoubleNear(minor, 1e-3));
  };
  EXPECT_THAT(axes(0), are(6367470, 6367470));
  EXPECT_THAT(axes(1), are(6371500, 6371500));
  EXPECT_THAT(axes(2), are(6378160, 6356775));
  EXPECT_THAT(axes(3), are(6378150, 6356750));
  EXPECT_THAT(axes(4), are(6378137, 6356752.314));
  EXPECT_THAT(axes(5), are(6378137, 6356752.314));
  EXPECT_THAT(axes(6), are(6371229, 6371229));
  EXPECT_THAT(axes(7), are(6378150, 6356750));
  EXPECT_THAT(axes(8), are(6371200, 6371200));
  EXPECT_THAT(axes(9), are(6377563.396, 6356256.909));
}

// Section 3 of a projection with 3 columns and 2 rows, and a first point.
SectionText MapSection(uint16_t number) {
  return GridHead(number, 6).Put(3, 4).Put(2, 4).Degrees(-12.5).Degrees(200.25);
}

void ExpectMap(const GribGrid& grid, GribGridKind kind) {
  EXPECT_EQ(grid.kind, kind);
  EXPECT_EQ(grid.ni, 3u);
  EXPECT_EQ(grid.nj, 2u);
  EXPECT_EQ(grid.component_flags, 0x38);
  EXPECT_EQ(grid.scan_mode, 0x40);
  EXPECT_THAT(grid.di.value_or(0), DoubleNear(2500, 1e-9));
  EXPECT_THAT(grid.dj.value_or(0), DoubleNear(3000.5, 1e-9));
}

TEST(GribPlacesTest, ProjectionsHaveTheirNumbersWhereTheManualHasThem) {
  SectionText mercator = MapSection(10);
  mercator.Put(0x38, 1).Degrees(20).Degrees(30).Degrees(210).Put(0x40, 1).Degrees(7);
  const auto cylinder = Parse(mercator.Put(2'500'000, 4).Put(3'000'500, 4)).value();
  ExpectMap(*cylinder, GribGridKind::kMercator);
  EXPECT_THAT(cylinder->first_latitude, DoubleNear(-12.5, 1e-9));
  EXPECT_THAT(cylinder->first_longitude, DoubleNear(200.25, 1e-9));
  EXPECT_THAT(cylinder->standard_latitude, DoubleNear(20, 1e-9));
  EXPECT_THAT(cylinder->last_latitude, DoubleNear(30, 1e-9));
  EXPECT_THAT(cylinder->last_longitude, DoubleNear(210, 1e-9));
  EXPECT_THAT(cylinder->rotation, DoubleNear(7, 1e-9));

  // Increments and places in centimetres, and a scale of 0.5.
  SectionText transverse = MapSection(12);
  transverse.Put(0x38, 1).Put(0x3f000000, 4).Put(100, 4).Put(200, 4).Put(0x40, 1);
  transverse.Put(250'000, 4).Put(300'050, 4).Put(300, 4).Put(400, 4).Put(500, 4).Put(600, 4);
  const auto turned = Parse(transverse).value();
  ExpectMap(*turned, GribGridKind::kTransverseMercator);
  EXPECT_THAT(turned->standard_latitude, DoubleNear(-12.5, 1e-9));
  EXPECT_THAT(turned->orientation_longitude, DoubleNear(200.25, 1e-9));
  EXPECT_THAT((std::vector{turned->scale, turned->false_x, turned->false_y, turned->x1,
                           turned->y1, turned->x2, turned->y2}),
              Pointwise(DoubleNear(1e-9), {0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0}));

  SectionText azimuthal = MapSection(140);
  azimuthal.Degrees(52).Degrees(10).Put(0x38, 1).Put(2'500'000, 4).Put(3'000'500, 4);
  const auto equal = Parse(azimuthal.Put(0x40, 1)).value();
  ExpectMap(*equal, GribGridKind::kLambertAzimuthal);
  EXPECT_THAT(equal->standard_latitude, DoubleNear(52, 1e-9));
  EXPECT_THAT(equal->orientation_longitude, DoubleNear(10, 1e-9));
}

TEST(GribPlacesTest, ConesAndPlanesSayWhichPoleTheyAreOf) {
  for (const uint16_t number : {20, 30, 31}) {
    for (const bool is_south : {false, true}) {
      SectionText section = MapSection(number);
      section.Put(0x38, 1).Degrees(60).Degrees(262.5).Put(2'500'000, 4).Put(3'000'500, 4);
      section.Put(is_south ? 0x80 : 0, 1).Put(0x40, 1);
      if (number != 20) section.Degrees(33).Degrees(45).Degrees(-80).Degrees(5);
      const auto grid = Parse(section).value();
      ExpectMap(*grid, number == 20   ? GribGridKind::kPolarStereographic
                       : number == 30 ? GribGridKind::kLambert
                                      : GribGridKind::kAlbers);
      EXPECT_EQ(grid->is_south_pole_projected, is_south);
      EXPECT_THAT(grid->standard_latitude, DoubleNear(60, 1e-9));
      EXPECT_THAT(grid->orientation_longitude, DoubleNear(262.5, 1e-9));
      if (number == 20) continue;
      EXPECT_THAT((std::vector{grid->latin1, grid->latin2, grid->south_pole_latitude,
                               grid->south_pole_longitude}),
                  Pointwise(DoubleNear(1e-9), {33.0, 45.0, -80.0, 5.0}));
    }
  }
}

// Section 2 of edition 1: thousandths of degrees.
TEST(GribPlacesTest, Edition1HasStepsInThousandthsOfDegreesAndOneEllipsoid) {
  SectionText section;
  section.Put(32, 3).Put(0, 1).Put(255, 1).Put(0, 1).Put(3, 2).Put(2, 2);
  section.Put(10'000, 3).Put(20'000, 3).Put(0xc0, 1).Put(9'500, 3).Put(20'500, 3);
  section.Put(250, 2).Put(500, 2).Put(0x60, 1).Put(0, 4);
  std::vector<std::byte> bytes;
  for (const char c : section.text()) bytes.push_back(static_cast<std::byte>(c));
  const auto grid =
      ParseGribGrid1(std::make_shared<const std::vector<std::byte>>(std::move(bytes))).value();
  EXPECT_EQ(grid->kind, GribGridKind::kLatLon);
  EXPECT_EQ(grid->scan_mode, 0x60);
  EXPECT_EQ(grid->earth_shape, 2);
  EXPECT_EQ(grid->major_axis, 6378160);
  EXPECT_EQ(grid->minor_axis, 6356775);
  EXPECT_THAT(grid->di.value_or(0), DoubleNear(0.25, 1e-9));
  EXPECT_THAT(grid->dj.value_or(0), DoubleNear(0.5, 1e-9));
  EXPECT_THAT(grid->last_latitude, DoubleNear(9.5, 1e-9));
  EXPECT_THAT(grid->last_longitude, DoubleNear(20.5, 1e-9));
}

// The first points of the four rhomboids in the south are those of its last ring.
TEST(GribPlacesTest, NestedHealpixBeginsAtTheSouthernCorners) {
  const auto grid = Parse(HealpixSection(2, 1, 48)).value();
  const auto latitudes = PlacesOf(*grid, GribCoordinate::kLatitude);
  const auto longitudes = PlacesOf(*grid, GribCoordinate::kLongitude);
  for (size_t face = 8; face < 12; ++face) {
    EXPECT_NEAR(latitudes[4 * face], -66.443536, 1e-6);
    EXPECT_NEAR(longitudes[4 * face], 45.0 + 90.0 * static_cast<double>(face - 8), 1e-9);
  }
}

// An increment of 0 says nothing: the last longitude does.
TEST(GribPlacesTest, StepsOfNothingAreNotBelieved) {
  GribGrid grid;
  grid.kind = GribGridKind::kLatLon;
  grid.ni = 4;
  grid.nj = 1;
  grid.points = 4;
  grid.first_longitude = 10;
  grid.last_longitude = 40;
  grid.di = 0;
  EXPECT_THAT(PlacesOf(grid, GribCoordinate::kLongitude), ElementsAre(10, 20, 30, 40));
}

TEST(GribProjectionTest, ACloseConeIsStillACone) {
  GribGrid grid = MapGrid(GribGridKind::kLambert);
  grid.latin1 = 89.5;
  EXPECT_NE(MakeGribProjection(grid), nullptr);
  std::swap(grid.latin1, grid.latin2);
  EXPECT_NE(MakeGribProjection(grid), nullptr);
  grid.latin1 = 90;
  EXPECT_EQ(MakeGribProjection(grid), nullptr);
}

}  // namespace
}  // namespace ndlfs::backends
