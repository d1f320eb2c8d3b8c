// SPDX-License-Identifier: MIT
#include "fs/view/place/geometry.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "fs/view/base/array_part.h"
#include "fs/view/place/fits_world.h"
#include "fs/view/place/map_axes.h"
#include "model/attributes.h"
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
    epsg_ = place ? place->system.epsg : std::nullopt;
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
    return Describe().system.epsg;
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

TEST_F(GeometryTest, ReferenceSystemMayBeAnAttributeOfTheArray) {
  const auto epsg_of = [&](const std::string& name, const std::string& text) {
    AddMap("m");
    AddArray(Datatype::Integer(1, false), {3, 4}, {"y", "x"}).attributes = {
        TextAttribute(name, text)};
    return Describe().system.epsg;
  };
  EXPECT_EQ(epsg_of("_CRS", R"({"url": "http://www.opengis.net/def/crs/EPSG/0/32632"})"),
            32632);
  EXPECT_EQ(epsg_of("_CRS", R"({"wkt": "PROJCS[\"x\",AUTHORITY[\"EPSG\",\"3035\"]]"})"), 3035);
  EXPECT_EQ(epsg_of("_CRS", R"({"projjson": {"type": "ProjectedCRS",
                                "id": {"authority": "EPSG", "code": 3413}}})"),
            3413);
  EXPECT_EQ(epsg_of("proj:code", "EPSG:32632"), 32632);
  EXPECT_EQ(epsg_of("crs", "EPSG:32632"), 32632);
  EXPECT_EQ(epsg_of("crs", "+init=epsg:32618"), 32618);
  EXPECT_EQ(epsg_of("crs", "urn:ogc:def:crs:EPSG::3035"), 3035);
  EXPECT_EQ(epsg_of("crs", "+proj=utm +zone=33 +south +datum=WGS84"), 32733);
  EXPECT_EQ(epsg_of("crs", "EPSG:4326"), std::nullopt) << "degrees, of metres";
  EXPECT_EQ(epsg_of("crs", "the one of the sensor"), std::nullopt);
  EXPECT_EQ(epsg_of("_CRS", "{"), std::nullopt);
  EXPECT_EQ(epsg_of("_CRS", "[[[["), std::nullopt);
}

TEST_F(GeometryTest, ReferenceSystemMayBeThatOfAGroup) {
  AddMap("m");
  AddArray(Datatype::Integer(1, false), {3, 4}, {"y", "x"});
  std::get<model::Group>(store_->AddGroup("/").entity).attributes = {
      TextAttribute("proj:code", "EPSG:32632")};
  EXPECT_EQ(Describe().system.epsg, 32632);
}

TEST_F(GeometryTest, ReferenceSystemMayBeSaidByItsParameters) {
  const auto describe = [&](Attributes attributes) {
    EpsgOf(std::move(attributes));
    return Describe().system;
  };
  Attributes utm = {TextAttribute("grid_mapping_name", "transverse_mercator"),
                    NumberAttribute("scale_factor_at_central_meridian", 0.9996),
                    NumberAttribute("longitude_of_central_meridian", 9),
                    NumberAttribute("latitude_of_projection_origin", 0),
                    NumberAttribute("false_easting", 500'000),
                    NumberAttribute("false_northing", 0),
                    NumberAttribute("semi_major_axis", 6378137),
                    NumberAttribute("inverse_flattening", 298.257223563)};
  EXPECT_EQ(describe(utm).epsg, 32632);
  utm[4] = NumberAttribute("false_easting", 400'000);
  EXPECT_EQ(describe(utm).epsg, std::nullopt);
  EXPECT_EQ(describe(utm).text,
            "+proj=tmerc +lat_0=0 +lon_0=9 +k=0.9996 +x_0=400000 +y_0=0 +datum=WGS84 +units=m "
            "+no_defs");
  EXPECT_EQ(describe({TextAttribute("grid_mapping_name", "polar_stereographic"),
                      NumberAttribute("standard_parallel", -71),
                      NumberAttribute("straight_vertical_longitude_from_pole", 0),
                      NumberAttribute("earth_radius", 6371229)})
                .text,
            "+proj=stere +lat_0=-90 +lon_0=0 +lat_ts=-71 +x_0=0 +y_0=0 +R=6371229 +units=m "
            "+no_defs");
  EXPECT_EQ(describe({TextAttribute("grid_mapping_name", "no_such_projection")}).text, "");
}

TEST_F(GeometryTest, RotatedPoleHasAPlaceInItsOwnDegrees) {
  const auto add = [&](const std::string& name, const std::vector<double>& numbers,
                       const std::string& standard_name) {
    AddCoordinate(
        name, numbers,
        {TextAttribute("units", "degrees"), TextAttribute("standard_name", standard_name)});
  };
  add("rlon", {-10, -9.5, -9, -8.5}, "grid_longitude");
  add("rlat", {3, 2, 1}, "grid_latitude");
  auto& pole = store_->AddArray(
      "/pole",
      std::make_shared<MemoryArray>(Datatype::Integer(1, true), std::vector<uint64_t>{}, "1"));
  std::get<model::Ndarray>(pole.entity).attributes = {
      TextAttribute("grid_mapping_name", "rotated_latitude_longitude"),
      NumberAttribute("grid_north_pole_latitude", 39.25),
      NumberAttribute("grid_north_pole_longitude", -162)};
  AddArray(Datatype::Integer(1, false), {3, 4}, {"rlat", "rlon"}).attributes = {
      TextAttribute("grid_mapping", "pole")};
  const Geometry geometry = Describe();
  const auto place = FindMapPlace(geometry, *AsRaster(Input(), *AsNumbers(Input())));
  ASSERT_TRUE(place);
  EXPECT_EQ(ReadGeoTransform(*place).value()->x0, -10.25);
  EXPECT_EQ(place->system.epsg, std::nullopt) << "the degrees are not those of the earth";
  EXPECT_EQ(place->system.text,
            "+proj=ob_tran +o_proj=longlat +o_lon_p=0 +o_lat_p=39.25 +lon_0=18 +datum=WGS84 "
            "+no_defs");
}

TEST_F(GeometryTest, AxesWithoutUnitsAreThoseOfTheSystem) {
  AddCoordinate("x", {600'005, 600'015, 600'025, 600'035});
  AddCoordinate("y", {5'099'995, 5'099'985, 5'099'975});
  auto transform = TransformOf("y", "x");
  ASSERT_TRUE(transform) << "a plane that nobody has described";
  EXPECT_EQ(transform->x0, 600'000);
  EXPECT_EQ(epsg_, std::nullopt);
  std::get<model::Group>(store_->AddGroup("/").entity).attributes = {
      TextAttribute("crs", "EPSG:32632")};
  transform = TransformOf("y", "x");
  ASSERT_TRUE(transform);
  EXPECT_EQ(epsg_, 32632);
}

model::Attribute ListAttribute(std::string name, const std::vector<double>& numbers) {
  model::Attribute attribute = NumberAttribute(std::move(name), 0);
  attribute.shape = {numbers.size()};
  model::Value::List items;
  for (const double number : numbers) items.emplace_back(number);
  attribute.value = std::move(items);
  return attribute;
}

TEST_F(GeometryTest, AttributesOfAPartHaveItsTransform) {
  AddArray(Datatype::Integer(1, false), {3, 4}, {"y", "x"});
  const Attributes whole = {ListAttribute("spatial:transform", {10, 0, 500, 0, -10, 700}),
                            ListAttribute("spatial:bbox", {500, 670, 540, 700})};
  const auto moved = [&](Selection selection, Attributes attributes) {
    MoveTransforms(PixelsOfPart(MakePart(Input(), std::move(selection))), attributes);
    return attributes;
  };
  const IndexRange rest{.begin = 1, .count = 2, .step = 1};
  const IndexRange second{.begin = 0, .count = 2, .step = 2};
  const Attributes part = moved({rest, second}, whole);
  EXPECT_THAT(model::NumbersOf(part, "spatial:transform"),
              ElementsAre(20, 0, 495, 0, -10, 690));
  EXPECT_EQ(model::FindAttribute(part, "spatial:bbox"), nullptr);
  Attributes nodes = whole;
  nodes.push_back(TextAttribute("spatial:registration", "node"));
  EXPECT_THAT(model::NumbersOf(moved({rest, second}, nodes), "spatial:transform"),
              ElementsAre(20, 0, 500, 0, -10, 690));
  EXPECT_EQ(moved({WholeRange(3), WholeRange(4)}, whole), whole);
  const IndexRange dropped{.begin = 1, .count = 1, .step = 1, .is_dropped = true};
  EXPECT_TRUE(moved({dropped, WholeRange(4)}, whole).empty());
}

TEST_F(GeometryTest, AttributesOfAPartHaveItsCards) {
  AddArray(Datatype::Integer(1, false), {3, 4}).attributes = {
      TextAttribute("SIMPLE", "T"),    NumberAttribute("NAXIS", 2),
      NumberAttribute("NAXIS2", 3),    TextAttribute("CTYPE2", "VRAD"),
      NumberAttribute("CRPIX2", 1),    NumberAttribute("CRVAL2", -300),
      TextAttribute("HISTORY", "made")};
  const auto cards = [&](const IndexRange& range) {
    const ArrayInput part = MakePart(Input(), {range, WholeRange(4)});
    Attributes attributes = part.node->attributes();
    MoveCards(part, attributes);
    EXPECT_EQ(model::TextOf(attributes, "HISTORY"), "made");
    EXPECT_EQ(model::NumberOf(attributes, "NAXIS2"), std::nullopt);
    return attributes;
  };
  const Attributes rest = cards({.begin = 1, .count = 2, .step = 1});
  EXPECT_EQ(model::NumberOf(rest, "CRPIX2"), 0);
  EXPECT_EQ(model::NumberOf(rest, "CRVAL2"), -300);
  EXPECT_EQ(model::TextOf(rest, "CTYPE2"), "VRAD");
  const Attributes one = cards({.begin = 1, .count = 1, .step = 1, .is_dropped = true});
  EXPECT_EQ(model::NumberOf(one, "NAXIS"), 1);
  EXPECT_EQ(model::FindAttribute(one, "CRPIX2"), nullptr);
}

TEST_F(GeometryTest, GeoZarrHasATransformInsteadOfCoordinates) {
  const auto list = ListAttribute;
  const auto add = [&](Attributes attributes) {
    AddArray(Datatype::Integer(1, false), {3, 4}, {"y", "x"}).attributes =
        std::move(attributes);
  };
  const auto place_of = [&](const ArrayInput& input) {
    const auto numbers = AsNumbers(input);
    const Geometry geometry = DescribeGeometry(input, *numbers).value();
    return FindMapPlace(geometry, *AsRaster(input, *numbers));
  };
  const auto transform = list("spatial:transform", {10, 0, 600'000, 0, -10, 5'100'000});
  add({TextAttribute("proj:code", "EPSG:32632"), transform});
  auto place = place_of(Input());
  ASSERT_TRUE(place);
  EXPECT_EQ(place->system.epsg, 32632);
  EXPECT_EQ(place->transform->x0, 600'000);
  EXPECT_EQ(place->transform->dy, -10);
  place = place_of(MakePart(
      Input(), {{.begin = 1, .count = 2, .step = 1}, {.begin = 0, .count = 2, .step = 2}}));
  ASSERT_TRUE(place);
  EXPECT_EQ(place->transform->y0, 5'099'990);
  EXPECT_EQ(place->transform->x0, 599'995)
      << "pixels of twice the width around the same centre";
  EXPECT_EQ(place->transform->dx, 20);
  add({transform, TextAttribute("spatial:registration", "node")});
  EXPECT_EQ(place_of(Input())->transform->x0, 599'995);
  add({list("spatial:transform", {10, 0, 600'000, 0, 0, 5'100'000})});
  EXPECT_FALSE(place_of(Input())) << "all lines in one place";
  add({transform, list("spatial:shape", {30, 40})});
  EXPECT_FALSE(place_of(Input())) << "of another array";
  add({});
  std::get<model::Group>(store_->AddGroup("/").entity).attributes = {
      TextAttribute(
          "multiscales",
          R"({"layout": [{"asset": "t", "spatial:transform": [20, 0, 5, 0, -20, 7]}]})"),
      TextAttribute("proj:code", "EPSG:32632")};
  place = place_of(Input());
  ASSERT_TRUE(place);
  EXPECT_EQ(place->transform->dx, 20);
  const auto level_of = [&](const char* layout) {
    std::get<model::Group>(store_->AddGroup("/").entity).attributes = {
        TextAttribute("multiscales", layout), transform,
        TextAttribute("proj:code", "EPSG:32632")};
    return place_of(Input());
  };
  EXPECT_EQ(level_of(R"({"layout": [{"asset": "t"}]})")->transform->dx, 10)
      << "the first level is the one that the group places";
  EXPECT_FALSE(level_of(R"({"layout": [{"asset": "r"}, {"asset": "t", "derived_from": "r",
                            "transform": {"scale": [2, 2]}}]})"))
      << "nobody says whether a scale keeps the corner or the centre of the first pixel";
}

TEST_F(GeometryTest, PixelsOfOmeHaveASizeAndAPlace) {
  AddArray(Datatype::Integer(1, false), {2, 3, 4});
  std::get<model::Group>(store_->AddGroup("/").entity).attributes = {
      TextAttribute("multiscales",
                    R"([{"axes": [{"name": "c", "type": "channel"},
                    {"name": "y", "type": "space", "unit": "micrometer"},
                    {"name": "x", "type": "space", "unit": "micrometer"}],
           "coordinateTransformations": [{"type": "scale", "scale": [1, 2, 2]}],
           "datasets": [{"path": "t", "coordinateTransformations": [
             {"type": "scale", "scale": [1, 0.5, 0.25]},
             {"type": "translation", "translation": [0, 10, 20]}]}]}])")};
  Geometry geometry = Describe();
  EXPECT_EQ(geometry.axes[0].name, "c");
  EXPECT_FALSE(geometry.axes[0].known) << "channels have no place";
  ASSERT_TRUE(geometry.axes[2].known);
  EXPECT_EQ(geometry.axes[1].known->step, 1);
  EXPECT_EQ(geometry.axes[1].known->first, 20);
  EXPECT_EQ(geometry.axes[2].known->step, 0.5);
  EXPECT_EQ(geometry.axes[2].units, "micrometer");
  const ArrayInput part = MakePart(Input(), {{.begin = 0, .count = 1, .is_dropped = true},
                                             {.begin = 2, .count = 2, .step = -1},
                                             {.begin = 0, .count = 4}});
  geometry = DescribeGeometry(part, *AsNumbers(part)).value();
  EXPECT_EQ(geometry.axes[0].known->first, 22);
  EXPECT_EQ(geometry.axes[0].known->step, -1);
}

// As the examples of the specification have it: a system of the image, and one beyond it.
std::string ImageOfVersion6(const std::string& transformations) {
  return R"({"version": "0.6", "multiscales": [{"coordinateSystems": [
    {"name": "world", "axes": [{"name": "b", "type": "space"}, {"name": "a", "type": "space"}]},
    {"name": "intrinsic", "axes": [{"name": "y", "type": "space", "unit": "micrometer"},
                                   {"name": "x", "type": "space", "unit": "micrometer"}]}],
    "coordinateTransformations": [{"type": "translation", "translation": [70, 80],
      "input": {"name": "intrinsic"}, "output": {"name": "world"}}],
    "datasets": [{"path": "t", "coordinateTransformations": )" +
         transformations + "}]}]}";
}

TEST_F(GeometryTest, PixelsOfOme6LieInTheSystemOfTheirImage) {
  AddArray(Datatype::Integer(1, false), {3, 4});
  const auto describe = [&](const std::string& transformations) {
    std::get<model::Group>(store_->AddGroup("/").entity).attributes = {
        TextAttribute("ome", ImageOfVersion6(transformations))};
    return Describe();
  };
  constexpr const char* kEnds = R"("input": {"path": "t"}, "output": {"name": "intrinsic"})";
  const std::string sequence = fmt::format(
      R"([{{"type": "sequence", {}, "transformations": [{{"type": "scale", "scale": [2, 4]}},
        {{"type": "identity"}}, {{"type": "translation", "translation": [0.5, 1.5]}}]}}])",
      kEnds);
  const std::string affine =
      fmt::format(R"([{{"type": "affine", {}, "affine": [[2, 0, 0.5], [0, 4, 1.5]]}}])", kEnds);
  for (const std::string& known : {sequence, affine}) {
    const Geometry geometry = describe(known);
    EXPECT_EQ(geometry.axes[0].name, "y");
    ASSERT_TRUE(geometry.axes[1].known) << known;
    EXPECT_EQ(geometry.axes[1].known->first, 1.5);
    EXPECT_EQ(geometry.axes[1].known->step, 4);
    EXPECT_EQ(geometry.axes[1].units, "micrometer");
  }
  for (const std::string& unknown :
       {fmt::format(R"([{{"type": "affine", {}, "affine": [[1, 2, 3], [4, 5, 6]]}}])", kEnds),
        fmt::format(R"([{{"type": "rotation", {}, "rotation": [[0, -1], [1, 0]]}}])", kEnds),
        fmt::format(R"([{{"type": "scale", {}, "path": "scales"}}])", kEnds),
        fmt::format(R"([{{"type": "sequence", {}, "transformations": [
          {{"type": "scale", "scale": [2, 4]}}, {{"type": "mapAxis", "mapAxis": [1, 0]}}]}}])",
                    kEnds),
        std::string("[]")}) {
    EXPECT_FALSE(describe(unknown).axes[1].known) << unknown;
  }
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
    EXPECT_THAT(ArrayViews().Make(Input(), file.name), IsOk()) << file.name;
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
