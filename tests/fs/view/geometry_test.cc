// SPDX-License-Identifier: MIT
#include "fs/view/geometry.h"

#include <cmath>
#include <limits>

#include "tests/fs/view/grid_test.h"

namespace ndlfs::fs::fake {
namespace {

using model::Datatype;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class GeometryTest : public GridTest {
 protected:
  Geometry Describe() {
    const ArrayInput input = Input();
    return DescribeGeometry(input, *AsNumbers(input)).value();
  }
  // Of an array with one dimension, with these coordinates.
  std::optional<Steps> StepsOf(const std::vector<double>& numbers, Attributes attributes = {}) {
    AddCoordinate("x", numbers, std::move(attributes));
    AddArray(Datatype::Integer(1, false), {numbers.size()}, {"x"});
    return ReadSteps(Describe().axes[0]).value();
  }
  // Of an array with the dimensions y and x.
  std::optional<GeoTransform> TransformOf(const std::string& y, const std::string& x) {
    AddArray(Datatype::Integer(1, false), {3, 4}, {y, x});
    const Geometry geometry = Describe();
    const auto place = FindMapPlace(geometry, *AsRaster(Input(), *AsNumbers(Input())));
    epsg_ = place ? place->epsg : std::nullopt;
    return place ? ReadGeoTransform(*place).value() : std::nullopt;
  }
  void AddMap(const std::string& units) {
    AddCoordinate("x", {500, 501, 502, 503},
                  {TextAttribute("units", units),
                   TextAttribute("standard_name", "projection_x_coordinate")});
    AddCoordinate("y", {9, 8, 7},
                  {TextAttribute("units", units),
                   TextAttribute("standard_name", "projection_y_coordinate")});
  }
  // A variable that `grid_mapping` of the array names.
  std::optional<int> EpsgOf(Attributes attributes) {
    AddMap("m");
    auto& crs = store_->AddArray(
        "/crs", std::make_shared<MemoryArray>(Datatype::Integer(4, true),
                                              std::vector<uint64_t>{}, "1234"));
    std::get<model::Ndarray>(crs.entity).attributes = std::move(attributes);
    AddArray(Datatype::Integer(1, false), {3, 4}, {"y", "x"}).attributes = {
        TextAttribute("grid_mapping", "crs")};
    return Describe().epsg;
  }

  std::optional<int> epsg_;
};

TEST_F(GeometryTest, RegularCoordinatesHaveSteps) {
  const auto steps = StepsOf({10, 10.25, 10.5, 10.75});
  ASSERT_TRUE(steps);
  EXPECT_EQ(steps->first, 10);
  EXPECT_EQ(steps->step, 0.25);
  EXPECT_EQ(SpacingOf({}, steps), 0.25);
  EXPECT_EQ(OriginOf(steps), 10);
}

TEST_F(GeometryTest, DescendingCoordinatesHaveNegativeSteps) {
  const auto steps = StepsOf({3, 2, 1});
  ASSERT_TRUE(steps);
  EXPECT_EQ(steps->step, -1);
  EXPECT_EQ(SpacingOf({}, steps), 1);
  EXPECT_EQ(OriginOf(steps), 0) << "which pictures without negative spacing begin at";
}

TEST_F(GeometryTest, OneCoordinateHasAPlaceButNoStep) {
  const auto steps = StepsOf({7});
  ASSERT_TRUE(steps);
  EXPECT_EQ(steps->first, 7);
  EXPECT_TRUE(std::isnan(steps->step));
  EXPECT_EQ(SpacingOf({}, steps), 1);
  EXPECT_EQ(OriginOf(steps), 7);
}

TEST_F(GeometryTest, CoordinatesThatAreNotRegularHaveNone) {
  EXPECT_FALSE(StepsOf({0, 1, 3}));
  EXPECT_FALSE(StepsOf({0, 1, 2, 3, 2}));
  EXPECT_FALSE(StepsOf({1, 1, 1}));
  EXPECT_FALSE(StepsOf({0, kNan, 2}));
  EXPECT_FALSE(StepsOf({kNan}));
  EXPECT_FALSE(StepsOf({0, 1, std::numeric_limits<double>::infinity()}));
  EXPECT_FALSE(StepsOf({88.542, 86.653, 84.753, 82.851, 80.947, 79.043})) << "a Gaussian grid";
  EXPECT_FALSE(
      StepsOf({-std::numeric_limits<double>::max(), std::numeric_limits<double>::max()}));
}

TEST_F(GeometryTest, CoordinatesMayBeRounded) {
  EXPECT_TRUE(StepsOf({0.333, 0.667, 1, 1.333, 1.667}));
  std::vector<float> numbers;
  for (int i = 0; i < 1000; ++i) numbers.push_back(static_cast<float>(-180 + i / 120.0));
  AddStoredCoordinate(
      "x", std::make_shared<MemoryArray>(Datatype::Float32(), std::vector<uint64_t>{1000},
                                         RawOf(numbers)));
  AddArray(Datatype::Integer(1, false), {1000}, {"x"});
  EXPECT_TRUE(ReadSteps(Describe().axes[0]).value());
}

TEST_F(GeometryTest, PackedAndMissingCoordinatesAreUnderstood) {
  AddStoredCoordinate(
      "x",
      std::make_shared<MemoryArray>(Datatype::Integer(2, true), std::vector<uint64_t>{3},
                                    RawOf(std::vector<int16_t>{0, 10, 20})),
      {NumberAttribute("scale_factor", 0.5), NumberAttribute("add_offset", 100)});
  AddArray(Datatype::Integer(1, false), {3}, {"x"});
  const auto steps = ReadSteps(Describe().axes[0]).value();
  ASSERT_TRUE(steps);
  EXPECT_EQ(steps->first, 100);
  EXPECT_EQ(steps->step, 5);
  EXPECT_FALSE(StepsOf({0, 1, 2}, {NumberAttribute("_FillValue", 1)}));
}

TEST_F(GeometryTest, DegreesAreAMapOfWgs84) {
  AddLongitude();
  AddLatitude();
  const auto transform = TransformOf("lat", "lon");
  ASSERT_TRUE(transform);
  EXPECT_EQ(transform->x0, 9.75);
  EXPECT_EQ(transform->dx, 0.5);
  EXPECT_EQ(transform->y0, 61);
  EXPECT_EQ(transform->dy, -2);
  EXPECT_EQ(epsg_, 4326);
}

TEST_F(GeometryTest, WhatIsNoMapHasNoPlace) {
  AddLongitude();
  AddLatitude();
  EXPECT_FALSE(TransformOf("lon", "lat"));
  EXPECT_FALSE(TransformOf("lat", "other"));
  AddLatitude({60, 58, 55});
  EXPECT_FALSE(TransformOf("lat", "lon"));
  AddLatitude({95, 90, 85});
  EXPECT_FALSE(TransformOf("lat", "lon"));
  AddLatitude({60, 58});
  EXPECT_FALSE(TransformOf("lat", "lon")) << "of another length than the array";
  AddLatitude();
  AddLongitude({11.5, 11, 10.5, 10});
  EXPECT_FALSE(TransformOf("lat", "lon"));
  AddCoordinate(
      "lon", {10, 10.5, 11, 11.5},
      {TextAttribute("units", "degrees"), TextAttribute("standard_name", "grid_longitude")});
  EXPECT_FALSE(TransformOf("lat", "lon")) << "of a rotated pole";
}

TEST_F(GeometryTest, KilometresBecomeMetres) {
  AddMap("km");
  const auto transform = TransformOf("y", "x");
  ASSERT_TRUE(transform);
  EXPECT_EQ(transform->x0, 499'500);
  EXPECT_EQ(transform->dx, 1000);
  EXPECT_EQ(transform->y0, 9500);
  EXPECT_EQ(transform->dy, -1000);
  EXPECT_EQ(epsg_, std::nullopt);
  AddMap("US_survey_foot");
  EXPECT_FALSE(TransformOf("y", "x"));
}

TEST_F(GeometryTest, ReferenceSystemIsThatOfTheGridMapping) {
  const std::string utm =
      R"(PROJCS["WGS 84 / UTM zone 33N",GEOGCS["WGS 84",AUTHORITY["EPSG","4326"]],)"
      R"(AUTHORITY["EPSG","32633"]])";
  EXPECT_EQ(EpsgOf({TextAttribute("crs_wkt", utm)}), 32633);
  EXPECT_EQ(EpsgOf({TextAttribute("spatial_ref", R"(PROJCRS["x",ID["EPSG",3035]])")}), 3035);
  EXPECT_EQ(EpsgOf({TextAttribute("epsg_code", "EPSG:3413")}), 3413);
  EXPECT_EQ(EpsgOf({NumberAttribute("spatial_epsg", 3413)}), 3413);
}

TEST_F(GeometryTest, ReferenceSystemThatIsNotSaidIsLeftOut) {
  EXPECT_EQ(EpsgOf({}), std::nullopt);
  EXPECT_EQ(EpsgOf({TextAttribute("crs_wkt",
                                  R"(PROJCS["x",GEOGCS["WGS 84",AUTHORITY["EPSG","4326"]]])")}),
            std::nullopt)
      << "the code of a part";
  EXPECT_EQ(EpsgOf({TextAttribute("crs_wkt", R"(GEOGCS["WGS 84",AUTHORITY["EPSG","4326"]])")}),
            std::nullopt)
      << "degrees, of metres";
  EXPECT_EQ(EpsgOf({NumberAttribute("epsg_code", 70'000)}), std::nullopt);
  EXPECT_EQ(EpsgOf({TextAttribute("epsg_code", "EPSG:x")}), std::nullopt);
  EXPECT_EQ(EpsgOf({TextAttribute("crs_wkt", "]]")}), std::nullopt);
}

TEST_F(GeometryTest, CoordinatesThatCannotBeDecodedAreAnError) {
  AddStoredCoordinate("x", std::make_shared<MemoryArray>(
                               Datatype::Float64(), std::vector<uint64_t>{3},
                               std::vector<uint64_t>{3}, std::map<uint64_t, std::string>()));
  AddArray(Datatype::Integer(1, false), {3}, {"x"});
  EXPECT_THAT(ReadSteps(Describe().axes[0]),
              IsError(model::ErrorCode::kCorrupt, HasSubstr("/x: ")));
}

TEST_F(GeometryTest, NoHeaderReadsAnythingBeforeItIsRead) {
  AddStoredCoordinate("x",
                      std::make_shared<MemoryArray>(
                          Datatype::Float64(), std::vector<uint64_t>{3},
                          std::vector<uint64_t>{3}, std::map<uint64_t, std::string>()),
                      {TextAttribute("units", "degrees_east")});
  AddLatitude({1, 2});
  AddArray(Datatype::Integer(2, true), {2, 3}, {"lat", "x"});
  for (const ViewName& file : ArrayViews().Names(Input())) {
    EXPECT_THAT(Make(file.name), IsOk()) << file.name;
  }
  for (const char* file : {"data.hdr", "data.vrt", "data.mhd", "data.nhdr", "data.xmf",
                           "data.bov", "data.ctl", "data.tif", "data.fits", "data.nii"}) {
    EXPECT_THAT(Read(file), IsError(model::ErrorCode::kCorrupt, HasSubstr("/x: "))) << file;
  }
}

TEST_F(GeometryTest, SpacingMayBeAnAttributeOfTheArray) {
  model::Attribute spacing;
  spacing.name = "spacing";
  spacing.type = Datatype::Float64();
  spacing.shape = {2};
  spacing.value = model::Value::List{2.5, 0.5};
  AddArray(Datatype::Integer(1, false), {3, 4}).attributes = {spacing};
  EXPECT_EQ(SpacingOf(Describe().axes[0], std::nullopt), 2.5);
  EXPECT_EQ(SpacingOf(Describe().axes[1], std::nullopt), 0.5);
  spacing.value = model::Value::List{2.5, -0.5};
  AddArray(Datatype::Integer(1, false), {3, 4}).attributes = {spacing};
  EXPECT_EQ(SpacingOf(Describe().axes[1], std::nullopt), 1);
}

TEST(FillUpTest, AddsBlankLines) {
  EXPECT_THAT(FillUp("a\n", 2), IsOkAnd("a\n"));
  EXPECT_THAT(FillUp("a\n", 5), IsOkAnd("a\n  \n"));
  EXPECT_THAT(FillUp("a\n", 85), IsOkAnd("a\n" + std::string(79, ' ') + "\n  \n"));
  EXPECT_THAT(FillUp("abc", 2), IsError(model::ErrorCode::kInternal, HasSubstr("3 bytes")));
}

}  // namespace
}  // namespace ndlfs::fs::fake
