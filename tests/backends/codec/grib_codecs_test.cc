// SPDX-License-Identifier: MIT
//
// "gribberish" of Zarr v3 and "grib" of kerchunk: configurations, orders, and coordinates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "backends/codec/grib/coordinates.h"
#include "backends/codec/grib/field_codec.h"
#include "backends/codec/grib/order.h"
#include "tests/backends/codec/chain_testing.h"
#include "tests/backends/codec/find_golden.h"
#include "tests/backends/codec/grib_goldens.h"

namespace ndlfs::backends {
namespace {

using model::Datatype;
using model::ErrorCode;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

const ChunkForm kDoubles{Datatype::Float64(), {1, 6, 8}};

Bytes GribBytes(std::string_view golden) {
  return FromHex(FindGolden(kGribGoldens, golden).message);
}
std::vector<double> GoldenValues(std::string_view golden) {
  return ValuesOf<double>(FromHex(FindGolden(kGribGoldens, golden).values).span());
}

template <typename T = double>
std::vector<T> DecodeGrib(std::string_view codecs, ConstByteSpan message,
                          const ChunkForm& form = kDoubles) {
  const auto values = Decode<T>(MakeChain(codecs, form), message, form.shape);
  if (!values) {
    ADD_FAILURE() << values.error().message();
    return {};
  }
  return *values;
}

// A message of `ni` x `nj` values 0, 1, 2, ... in stored order. Makes it of a golden of 48
// points of 8 bits.
struct GridOptions {
  uint8_t scan = 0;
  double first_latitude = 50, first_longitude = 0;
  double last_latitude = 40, last_longitude = 14;
  double step = 2;
};

void PutSigned(double degrees, std::byte* to) {
  const auto magnitude = static_cast<uint32_t>(std::lround(std::abs(degrees) * 1e6));
  const uint32_t bits = magnitude | (degrees < 0 ? 0x80000000u : 0u);
  for (size_t i = 0; i < 4; ++i) to[i] = static_cast<std::byte>(bits >> (24 - 8 * i));
}

// Octets of section 3 lie behind sections 0 and 1.
Bytes CountingMessage(const GridOptions& options) {
  Bytes message = GribBytes("Constant0");
  const auto headers = ParseGribMessage(message.span());
  EXPECT_TRUE(headers);
  const auto& section = *headers->fields[0].grid->section;
  std::byte* const grid =
      message.data() + (std::search(message.span().begin(), message.span().end(),
                                    section.begin(), section.end()) -
                        message.span().begin());
  PutSigned(options.first_latitude, grid + 46);
  PutSigned(options.first_longitude, grid + 50);
  PutSigned(options.last_latitude, grid + 55);
  PutSigned(options.last_longitude, grid + 59);
  PutSigned(options.step, grid + 63);
  PutSigned(2, grid + 67);
  grid[71] = std::byte{options.scan};
  return message;
}

TEST(GribCodecsTest, AChunkIsAMessageOfAnyShape) {
  const Bytes message = GribBytes("SimpleHoles");
  EXPECT_THAT(DecodeGrib(R"(["gribberish"])", message.span()),
              Pointwise(testing::NanSensitiveDoubleEq(), GoldenValues("SimpleHoles")));
  const ChunkForm floats{Datatype::Float32(), {48}};
  const std::vector<float> narrow = DecodeGrib<float>(
      R"([{"name": "gribberish", "configuration": {"var": "2t"}}])", message.span(), floats);
  EXPECT_EQ(narrow[1], static_cast<float>(GoldenValues("SimpleHoles")[1]));
  const ChunkForm integers{kInt16, {48}};
  EXPECT_THAT(DecodeGrib<int16_t>(R"(["gribberish"])", GribBytes("Constant0").span(), integers),
              testing::Each(223));
}

TEST(GribCodecsTest, OtherCodecsComeBeforeIt) {
  const std::vector<double> values = DecodeGrib(
      R"([{"name": "scale_offset", "configuration": {"offset": -273.15, "scale": 1}}, "gribberish"])",
      GribBytes("Constant0").span());
  EXPECT_THAT(values[0], DoubleNear(223.43 - 273.15, 1e-9));
  EXPECT_EQ(MakeChain(R"(["gribberish"])", kDoubles).ExactEncodedSize(kDoubles.shape),
            std::nullopt);
}

TEST(GribCodecsTest, ConfigurationsThatAreNotKnownAreRefused) {
  const auto failure = [](std::string_view name, std::string_view configuration) {
    return ConfigFailure(name, configuration, kDoubles);
  };
  EXPECT_THAT(failure("gribberish", R"({"north": true})"),
              HasSubstr("unknown member \"north\""));
  EXPECT_THAT(failure("gribberish", R"({"north_up": 1})"),
              HasSubstr("north_up: expected true or false"));
  EXPECT_THAT(failure("gribberish", R"({"var": 1})"), HasSubstr("var: expected a string"));
  EXPECT_THAT(failure("grib", R"({"north_up": true})"),
              HasSubstr("unknown member \"north_up\""));
  EXPECT_THAT(
      ConfigFailure("gribberish", "{}", {Datatype::String(), {4}}, ErrorCode::kUnsupported),
      HasSubstr("gribberish: elements of "));
}

TEST(GribCodecsTest, RowsAreInTheOrderOfTheGridForGribberishAndAsStoredForGrib) {
  for (const std::string_view golden : {"Scan10", "Scan20", "Scan90", "Scane0"}) {
    const Bytes message = GribBytes(golden);
    EXPECT_THAT(
        DecodeGrib(R"([{"name": "grib", "configuration": {"var": "t", "dtype": "<f8"}}])",
                   message.span()),
        Pointwise(testing::DoubleEq(), GoldenValues(golden)));
  }
  const std::vector<double> turned = GoldenValues("Scan10");
  const std::vector<double> rows = DecodeGrib(R"(["gribberish"])", GribBytes("Scan10").span());
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(rows[i], turned[i]);
    EXPECT_EQ(rows[8 + i], turned[15 - i]);
  }
  const std::vector<double> columns = GoldenValues("Scan20");
  const std::vector<double> made = DecodeGrib(R"(["gribberish"])", GribBytes("Scan20").span());
  for (size_t j = 0; j < 6; ++j) {
    for (size_t i = 0; i < 8; ++i) EXPECT_EQ(made[j * 8 + i], columns[i * 6 + j]);
  }
}

TEST(GribCodecsTest, OrdersAreInverse) {
  GribGrid grid;
  grid.ni = 4;
  grid.nj = 3;
  grid.points = 12;
  for (const int scan : {0x00, 0x10, 0x20, 0x30}) {
    grid.scan_mode = static_cast<uint8_t>(scan);
    std::vector<int> values(12);
    for (int i = 0; i < 12; ++i) values[static_cast<size_t>(i)] = i;
    const std::vector<int> before = values;
    OrderGribRows(grid, std::span(values));
    EXPECT_EQ(values == before, scan == 0) << scan;
    OrderGribAsStored(grid, std::span(values));
    EXPECT_EQ(values, before) << scan;
  }
}

TEST(GribCodecsTest, TheNorthernmostRowComesFirstIfAsked) {
  const std::vector<double> south_up = GoldenValues("Scan40");
  const std::vector<double> made =
      DecodeGrib(R"([{"name": "gribberish", "configuration": {"north_up": true}}])",
                 GribBytes("Scan40").span());
  for (size_t j = 0; j < 6; ++j) EXPECT_EQ(made[j * 8 + 3], south_up[(5 - j) * 8 + 3]);
  EXPECT_THAT(DecodeGrib(R"([{"name": "gribberish", "configuration": {"north_up": true}}])",
                         GribBytes("Simple16Bits").span()),
              Pointwise(testing::DoubleEq(), GoldenValues("Simple16Bits")));
}

std::vector<double> Axis(std::string_view configuration, ConstByteSpan message,
                         uint64_t count) {
  return DecodeGrib(
      fmt::format(R"([{{"name": "gribberish", "configuration": {{{}}}}}])", configuration),
      message, {Datatype::Float64(), {count}});
}

TEST(GribCodecsTest, LongitudesRiseFromMinus180OnIfAsked) {
  const GridOptions globe{0, 50, 0, 40, 315, 45};
  const Bytes message = CountingMessage(globe);
  EXPECT_THAT(Axis(R"("var": "longitude")", message.span(), 8),
              ElementsAre(0, 45, 90, 135, 180, 225, 270, 315));
  EXPECT_THAT(Axis(R"("var": "longitude", "adjust_longitude_range": true)", message.span(), 8),
              ElementsAre(-180, -135, -90, -45, 0, 45, 90, 135));
  const Bytes part = CountingMessage({0, 50, 180, 40, 250, 10});
  EXPECT_THAT(Axis(R"("var": "longitude", "adjust_longitude_range": true)", part.span(), 8),
              ElementsAre(180, 190, 200, 210, 220, 230, 240, 250));
  const Bytes across = CountingMessage({0, 50, 340, 40, 50, 10});
  EXPECT_THAT(Axis(R"("var": "longitude")", across.span(), 8),
              ElementsAre(340, 350, 0, 10, 20, 30, 40, 50));
}

TEST(GribCodecsTest, ColumnsRollWithTheLongitudes) {
  std::vector<int> values = {0, 1, 2, 3, 4, 5, 6, 7};
  RollGribRows(4, 1, std::span(values));
  EXPECT_THAT(values, ElementsAre(1, 2, 3, 0, 5, 6, 7, 4));
  FlipGribRows(4, std::span(values));
  EXPECT_THAT(values, ElementsAre(5, 6, 7, 4, 1, 2, 3, 0));
  // A message whose values differ, on a grid around the earth.
  Bytes message = GribBytes("PngGrey4");
  const Bytes grid = CountingMessage({0, 50, 0, 40, 315, 45});
  const auto headers = ParseGribMessage(message.span());
  ASSERT_TRUE(headers);
  std::copy_n(grid.data(), 16 + 21 + 72, message.data());
  // The length of the message is its own.
  const Bytes own = GribBytes("PngGrey4");
  std::copy_n(own.data(), 16, message.data());
  const auto plain =
      Decode<double>(MakeChain(R"(["gribberish"])", kDoubles), message.span(), kDoubles.shape);
  if (!plain) GTEST_SKIP() << plain.error().message();
  const std::vector<double> rolled = DecodeGrib(
      R"([{"name": "gribberish", "configuration": {"adjust_longitude_range": true}}])",
      message.span());
  for (size_t i = 0; i < 48; ++i) EXPECT_EQ(rolled[i], (*plain)[i / 8 * 8 + (i + 4) % 8]);
}

TEST(GribCodecsTest, LatitudesOfRows) {
  const Bytes message = GribBytes("Simple16Bits");
  EXPECT_THAT(Axis(R"("var": "latitude")", message.span(), 6),
              ElementsAre(50, 48, 46, 44, 42, 40));
  const Bytes south_up = CountingMessage({0x40, 40, 0, 50, 14, 2});
  EXPECT_THAT(Axis(R"("var": "latitude")", south_up.span(), 6),
              ElementsAre(40, 42, 44, 46, 48, 50));
  EXPECT_THAT(Axis(R"("var": "latitude", "north_up": true)", south_up.span(), 6),
              ElementsAre(50, 48, 46, 44, 42, 40));
  const ChunkForm form{Datatype::Float64(), {7}};
  EXPECT_THAT(
      FailureOf(
          Decode<double>(
              MakeChain(R"([{"name": "gribberish", "configuration": {"var": "latitude"}}])",
                        form),
              message.span(), form.shape),
          ErrorCode::kCorrupt),
      HasSubstr("an axis of 6 points, expected 7"));
}

TEST(GribCodecsTest, KerchunkHasACoordinateForEachPoint) {
  const ChunkForm form{Datatype::Float64(), {6, 8}};
  const auto longitudes =
      DecodeGrib(R"([{"name": "grib", "configuration": {"var": "longitude"}}])",
                 GribBytes("Simple16Bits").span(), form);
  for (size_t i = 0; i < 48; ++i) EXPECT_EQ(longitudes[i], 2.0 * (i % 8));
  const auto latitudes =
      DecodeGrib(R"([{"name": "grib", "configuration": {"var": "latitude"}}])",
                 GribBytes("Scan20").span(), form);
  for (size_t i = 0; i < 48; ++i) EXPECT_EQ(latitudes[i], 50 - 2.0 * (i % 6));
}

TEST(GribCodecsTest, AFilterOfZarr2MakesTheElementsOfTheArray) {
  const auto chain = [](std::string_view filters, const Datatype& dtype) {
    return MakeZarr2Chain(*ParseJson(filters), Json(), false, dtype, {6, 8});
  };
  const auto made = chain(R"([{"id": "grib", "var": "t"}])", Datatype::Float32());
  ASSERT_TRUE(made) << made.error().message();
  const Bytes message = GribBytes("Simple16Bits");
  const auto values = Decode<float>(*made, message.span(), {6, 8});
  ASSERT_TRUE(values) << values.error().message();
  EXPECT_EQ((*values)[9], static_cast<float>(GoldenValues("Simple16Bits")[9]));
  EXPECT_TRUE(chain(R"([{"id": "grib", "var": "latitude"}])", Datatype::Float64()));
  EXPECT_TRUE(
      chain(R"([{"id": "grib", "var": "t", "dtype": "float64"}])", Datatype::Float64()));
  EXPECT_THAT(FailureOf(chain(R"([{"id": "grib", "var": "t"}])", Datatype::Float64()),
                        ErrorCode::kBadInput),
              HasSubstr("dtype float32, but elements of float64"));
  EXPECT_THAT(
      FailureOf(chain(R"([{"id": "grib", "var": "t", "dtype": "<f9"}])", Datatype::Float64()),
                ErrorCode::kBadInput),
      HasSubstr("grib: dtype: "));
}

TEST(GribCodecsTest, NumbersOfZarr3GoThroughTheTypeOfTheFilter) {
  const auto values = DecodeGrib(R"([{"name": "grib", "configuration": {"var": "t"}}])",
                                 GribBytes("Logarithm").span());
  EXPECT_EQ(values[5], static_cast<double>(static_cast<float>(GoldenValues("Logarithm")[5])));
}

// Reference points: eccodes for its samples of these grids.
GribGrid GridOf(GribGridKind kind, uint64_t ni, uint64_t nj) {
  GribGrid grid;
  grid.kind = kind;
  grid.ni = ni;
  grid.nj = nj;
  grid.points = ni * nj;
  return grid;
}

std::vector<double> PointsOf(const GribGrid& grid, GribCoordinate coordinate) {
  std::vector<double> points(grid.points);
  const auto status = GribPoints(grid, coordinate, points);
  EXPECT_TRUE(status) << status.error().message();
  return points;
}

TEST(GribCoordinatesTest, GaussianLatitudesAreZerosOfLegendrePolynomials) {
  GribGrid grid = GridOf(GribGridKind::kGaussian, 4, 4);
  grid.parallels = 2;
  grid.first_latitude = 59.444;
  grid.last_latitude = -59.444;
  grid.last_longitude = 270;
  grid.di = 90;
  const auto axis = GribAxis(grid, GribCoordinate::kLatitude);
  ASSERT_TRUE(axis) << axis.error().message();
  // asin of the zeros of P4: sqrt(3/7 +- 2/7 sqrt(6/5)).
  EXPECT_THAT(*axis,
              Pointwise(DoubleNear(1e-6), {59.444408, 19.875719, -19.875719, -59.444408}));
  grid.parallels = 0;
  EXPECT_THAT(FailureOf(GribAxis(grid, GribCoordinate::kLatitude), ErrorCode::kUnsupported),
              HasSubstr("a Gaussian grid of 0 parallels"));
  grid.parallels = UINT32_MAX;
  EXPECT_THAT(FailureOf(GribAxis(grid, GribCoordinate::kLatitude), ErrorCode::kUnsupported),
              HasSubstr("a Gaussian grid of 4294967295 parallels"));
  grid.parallels = 2;
  grid.nj = 5;
  EXPECT_THAT(FailureOf(GribAxis(grid, GribCoordinate::kLatitude), ErrorCode::kCorrupt),
              HasSubstr("a Gaussian grid of 5 rows"));
}

TEST(GribCoordinatesTest, ReducedRowsDivideTheCircle) {
  GribGrid grid = GridOf(GribGridKind::kLatLon, 0, 2);
  grid.row_points = {2, 4};
  grid.points = 6;
  grid.first_latitude = 10;
  grid.last_latitude = -10;
  grid.last_longitude = 270;
  EXPECT_THAT(PointsOf(grid, GribCoordinate::kLongitude), ElementsAre(0, 180, 0, 90, 180, 270));
  EXPECT_THAT(PointsOf(grid, GribCoordinate::kLatitude),
              ElementsAre(10, 10, -10, -10, -10, -10));
}

TEST(GribCoordinatesTest, RotatedGridsAreTurnedBack) {
  GribGrid grid = GridOf(GribGridKind::kRotatedLatLon, 2, 1);
  grid.first_latitude = grid.last_latitude = 60;
  grid.last_longitude = 22.5;
  grid.di = 22.5;
  grid.south_pole_latitude = -39.25;
  grid.south_pole_longitude = 18;
  EXPECT_THAT(PointsOf(grid, GribCoordinate::kLatitude)[0], DoubleNear(69.25, 1e-9));
  EXPECT_THAT(PointsOf(grid, GribCoordinate::kLongitude)[0], DoubleNear(-162, 1e-9));
}

// Files lie: what goes around the Earth 10^16 times takes no longer than what goes around once.
TEST(GribCoordinatesTest, LongitudesFarAwayAreOnTheCircle) {
  GribGrid grid = GridOf(GribGridKind::kLatLon, 3, 1);
  grid.last_longitude = -3.6e18 - 1024;
  for (const double longitude : PointsOf(grid, GribCoordinate::kLongitude)) {
    EXPECT_GE(longitude, 0);
    EXPECT_LT(longitude, 360);
  }
}

TEST(GribCoordinatesTest, ProjectionsBeginAtTheirFirstPoint) {
  for (const auto kind :
       {GribGridKind::kLambert, GribGridKind::kPolarStereographic, GribGridKind::kMercator}) {
    for (const double minor : {6371229.0, 6350000.0}) {
      GribGrid grid = GridOf(kind, 3, 2);
      grid.scan_mode = 0x40;
      grid.first_latitude = 21.138;
      grid.first_longitude = 237.28;
      grid.standard_latitude = grid.latin1 = grid.latin2 = 38.5;
      if (kind != GribGridKind::kMercator) grid.orientation_longitude = 262.5;
      grid.di = grid.dj = 3000;
      grid.major_axis = 6371229;
      grid.minor_axis = minor;
      const auto latitudes = PointsOf(grid, GribCoordinate::kLatitude);
      const auto longitudes = PointsOf(grid, GribCoordinate::kLongitude);
      EXPECT_THAT(latitudes[0], DoubleNear(21.138, 1e-9));
      EXPECT_THAT(longitudes[0], DoubleNear(237.28, 1e-9));
      EXPECT_GT(longitudes[1], longitudes[0]);
      EXPECT_GT(latitudes[3], latitudes[0]);
    }
  }
}

TEST(GribCoordinatesTest, WhatHasNoCoordinatesSaysSo) {
  GribGrid grid = GridOf(GribGridKind::kUnstructured, 0, 0);
  grid.points = 3;
  grid.template_number = 101;
  std::vector<double> out(3);
  EXPECT_THAT(
      FailureOf(GribPoints(grid, GribCoordinate::kLatitude, out), ErrorCode::kUnsupported),
      HasSubstr("coordinates of the grid 101 of edition 2"));
  grid = GridOf(GribGridKind::kLambert, 3, 1);
  grid.latin1 = grid.latin2 = 0;
  grid.di = grid.dj = 1;
  EXPECT_THAT(
      FailureOf(GribPoints(grid, GribCoordinate::kLatitude, out), ErrorCode::kUnsupported),
      HasSubstr("coordinates of the grid 0 of edition 2 with these parameters"));
}

TEST(GribCodecsTest, OnlyLongitudesFrom180OnAreWrapped) {
  const Bytes message = CountingMessage({0, 50, 44.5, 40, 359.5, 45});
  EXPECT_THAT(Axis(R"("var": "longitude", "adjust_longitude_range": true)", message.span(), 8),
              ElementsAre(-135.5, -90.5, -45.5, -0.5, 44.5, 89.5, 134.5, 179.5));
}

}  // namespace
}  // namespace ndlfs::backends
