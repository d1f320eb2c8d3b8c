// SPDX-License-Identifier: MIT
#include "fs/view/picture/preview_axis.h"

#include <cmath>

#include "tests/fs/view/grid_test.h"

namespace ndlfs::fs {
namespace {

using fake::NumberAttribute;
using fake::TextAttribute;
using model::Datatype;
using test::IsOk;
using test::IsOkAnd;
using ::testing::ElementsAre;

std::vector<std::string> Labels(const std::vector<picture::Tick>& ticks) {
  std::vector<std::string> labels;
  for (const picture::Tick& tick : ticks) labels.push_back(tick.label);
  return labels;
}

model::TimeScale Scale(std::string_view units, std::string_view calendar = {}) {
  return model::ParseTimeUnits(units, calendar).value();
}

TEST(TimeTicksTest, StandAtYearsMonthsDaysAndHours) {
  EXPECT_THAT(Labels(TimeTicks(Scale("days since 1990-01-01"), 0, 7305, 6).ticks),
              ElementsAre("1990", "1995", "2000", "2005", "2010"));
  EXPECT_THAT(Labels(TimeTicks(Scale("days since 2000-01-15"), 0, 150, 7).ticks),
              ElementsAre("2000-02", "2000-03", "2000-04", "2000-05", "2000-06"));
  EXPECT_THAT(
      Labels(TimeTicks(Scale("hours since 2000-02-27"), 0, 96, 6).ticks),
      ElementsAre("2000-02-27", "2000-02-28", "2000-02-29", "2000-03-01", "2000-03-02"));
  const auto hours = TimeTicks(Scale("minutes since 2000-02-27 06:30"), 0, 200, 6);
  EXPECT_THAT(Labels(hours.ticks), ElementsAre("07:00", "08:00", "09:00"));
  EXPECT_EQ(hours.factor, "2000-02-27");
  EXPECT_THAT(
      Labels(TimeTicks(Scale("hours since 2000-02-27"), 12, 36, 6).ticks),
      ElementsAre("02-27 12:00", "02-27 18:00", "02-28 00:00", "02-28 06:00", "02-28 12:00"));
}

TEST(TimeTicksTest, FollowTheCalendar) {
  const auto ticks = TimeTicks(Scale("days since 2000-01-01", "360_day"), 0, 150, 7);
  EXPECT_THAT(Labels(ticks.ticks),
              ElementsAre("2000-01", "2000-02", "2000-03", "2000-04", "2000-05", "2000-06"));
  EXPECT_NEAR(ticks.ticks[1].at, 0.2, 1e-9) << "each month has 30 days";
}

TEST(TimeTicksTest, ExtremesAreHarmless) {
  const model::TimeScale scale = Scale("days since 2000-01-01");
  for (const double low : {-1e300, -1e12, -4e6, 0.0, 1e9}) {
    for (const double high : {low + 1e-9, low + 1, low + 4e6, 1e300}) {
      if (!(high > low)) continue;
      EXPECT_LE(TimeTicks(scale, low, high, 6).ticks.size(), 70U) << low << ' ' << high;
    }
  }
}

TEST(TimeLabelTest, HasNoZerosAtItsEnd) {
  const model::TimeScale scale = Scale("seconds since 2000-01-01");
  EXPECT_EQ(TimeLabel(scale, 0), "2000-01-01");
  EXPECT_EQ(TimeLabel(scale, 3600), "2000-01-01 01:00");
  EXPECT_EQ(TimeLabel(scale, 3661), "2000-01-01 01:01:01");
  EXPECT_EQ(TimeLabel(scale, 0.5), "2000-01-01 00:00:00.500");
}

class PreviewAxisTest : public fake::GridTest {
 protected:
  PreviewDimension Dimension(size_t d) {
    const auto dimensions = DescribeDimensions(PlanSamples(Input()));
    EXPECT_THAT(dimensions, IsOk());
    return dimensions->at(d);
  }
  Placed Place(size_t d, PlaceOn place) {
    const auto placed = PlaceSamples(Dimension(d), place);
    EXPECT_THAT(placed, IsOk());
    return *placed;
  }
};

TEST_F(PreviewAxisTest, NorthIsUpWhereverTheArrayBegins) {
  AddLongitude();
  AddLatitude({60, 58, 56});
  AddArray(Datatype::Float32(), {3, 4}, {"lat", "lon"});
  const Placed down = Place(0, PlaceOn::kYOfMap);
  EXPECT_TRUE(down.is_reversed) << "the first row is the uppermost";
  EXPECT_THAT(Labels(down.axis.ticks), ::testing::Contains("58\u00b0N"));
  AddLatitude({56, 58, 60});
  EXPECT_FALSE(Place(0, PlaceOn::kYOfMap).is_reversed);
  EXPECT_EQ(Place(0, PlaceOn::kYOfMap).axis.label, "latitude");
  EXPECT_THAT(Labels(Place(1, PlaceOn::kXOfMap).axis.ticks),
              ::testing::Contains("10.5\u00b0E"));
}

TEST_F(PreviewAxisTest, RowsWithoutCoordinatesBeginAtTheTop) {
  AddArray(Datatype::Float32(), {3, 4}, {"y", "x"});
  const Placed y = Place(0, PlaceOn::kYOfMap);
  EXPECT_TRUE(y.is_reversed);
  EXPECT_FALSE(y.has_coordinates);
  EXPECT_EQ(y.axis.label, "y (index)");
  EXPECT_THAT(Labels(y.axis.ticks), ElementsAre("0", "1", "2"));
  EXPECT_FALSE(Place(1, PlaceOn::kXOfMap).is_reversed);
}

TEST_F(PreviewAxisTest, PressureGoesDown) {
  AddCoordinate("lev", {1000, 500, 100}, {TextAttribute("units", "hPa")});
  AddArray(Datatype::Float32(), {3, 4}, {"lev", "x"});
  const Placed y = Place(0, PlaceOn::kYOfMap);
  EXPECT_FALSE(y.is_reversed) << "the first row, of the highest pressure, is the lowest";
  EXPECT_EQ(y.axis.label, "lev (hPa)");
  ASSERT_EQ(y.edges.size(), 4U);
  EXPECT_NEAR(y.edges[1], 0.2007, 1e-4)
      << "halfway between coordinates, on a scale of logarithms";
}

TEST_F(PreviewAxisTest, PressureOverAPowerOfTenIsAnAxisOfHeights) {
  AddCoordinate("lev", {1000, 100, 10}, {TextAttribute("units", "hPa")});
  AddArray(Datatype::Float32(), {3, 4}, {"lev", ""});
  const auto placed = PlaceSamples(Dimension(0), PlaceOn::kYOfMap);
  ASSERT_THAT(placed, IsOk());
  EXPECT_NEAR(placed->centres[1], 0.5, 1e-9) << "100 is in the middle";
  EXPECT_LT(placed->centres[0], placed->centres[2]) << "1000 is at the bottom";
  std::vector<std::string> labels;
  for (const auto& tick : placed->axis.ticks) labels.push_back(tick.label);
  EXPECT_THAT(labels, ::testing::IsSupersetOf({"10", "100", "1000"}));
  AddCoordinate("lev", {1000, 500, 200}, {TextAttribute("units", "hPa")});
  EXPECT_NEAR(PlaceSamples(Dimension(0), PlaceOn::kYOfMap)->edges[1], 0.34, 0.2);
}

TEST_F(PreviewAxisTest, CoordinatesThatAreNoAxisAreLeftOut) {
  for (const std::vector<double>& numbers :
       {std::vector<double>{1, 5, 2}, {1, 1, 1}, {1, std::nan(""), 3}, {1, HUGE_VAL, 3}}) {
    AddCoordinate("x", numbers);
    AddArray(Datatype::Float32(), {3}, {"x"});
    const Placed x = Place(0, PlaceOn::kXOfLine);
    EXPECT_FALSE(x.has_coordinates);
    EXPECT_EQ(x.axis.label, "x (index)");
  }
}

TEST_F(PreviewAxisTest, CoordinatesThatCannotBeDecodedAreLeftOut) {
  store_->AddDimCoord("/x", ndlfs::test::Undecodable(Datatype::Float64(), {3}));
  AddArray(Datatype::Float32(), {3}, {"x"});
  EXPECT_FALSE(Place(0, PlaceOn::kXOfLine).has_coordinates);
}

TEST_F(PreviewAxisTest, IndicesOfOtherDimensionsAreSaidByCoordinate) {
  AddCoordinate("time", {0, 6, 12}, {TextAttribute("units", "hours since 2000-01-01")});
  AddCoordinate("lev", {1000, 500}, {TextAttribute("units", "hPa")});
  AddArray(Datatype::Float32(), {3, 2, 4, 5}, {"time", "lev", "", ""});
  EXPECT_THAT(DescribeIndex(Dimension(0), 0), IsOkAnd("time = 2000-01-01 06:00"));
  EXPECT_THAT(DescribeIndex(Dimension(1), 1), IsOkAnd("lev = 500 hPa"));
  AddArray(Datatype::Float32(), {3, 7, 4, 5}, {"", "run", "", ""});
  EXPECT_THAT(DescribeIndex(Dimension(0), 0), IsOkAnd("dimension 0 = #1"));
  EXPECT_THAT(DescribeIndex(Dimension(1), 1), IsOkAnd("run = #3"));
}

TEST_F(PreviewAxisTest, ChannelsOfAnImageAreSaidByName) {
  auto& attributes = std::get<model::Group>(store_->AddGroup("/").entity).attributes;
  attributes = {TextAttribute("multiscales", R"([{"axes": [{"name": "t"}, {"name": "c"},
                    {"name": "y"}, {"name": "x"}], "datasets": [{"path": "t"}]}])"),
                TextAttribute("omero", R"({"channels": [{"label": "DAPI"},
                    {"label": "LaminB1 <µ>"}, {"color": "00FF00"}]})")};
  AddArray(Datatype::Float32(), {3, 3, 4, 5});
  EXPECT_THAT(DescribeIndex(Dimension(0), 0), IsOkAnd("t = #1"));
  EXPECT_THAT(DescribeIndex(Dimension(1), 1), IsOkAnd("c = LaminB1 <µ>"));
  // Another number of channels than the array has.
  AddArray(Datatype::Float32(), {3, 2, 4, 5});
  EXPECT_THAT(DescribeIndex(Dimension(1), 1), IsOkAnd("c = #1"));
  attributes[1] = TextAttribute("omero", R"({"channels": [{}, 7, {"label": 8}]})");
  AddArray(Datatype::Float32(), {3, 3, 4, 5});
  EXPECT_THAT(DescribeIndex(Dimension(1), 1), IsOkAnd("c = #1"));
  attributes[0] = TextAttribute("multiscales", R"([{"axes": ["t", "c"], "datasets": []}])");
  EXPECT_THAT(DescribeIndex(Dimension(1), 1), IsOkAnd("dimension 1 = #1"));
}

TEST_F(PreviewAxisTest, ACoordinateIsShownByItsIndex) {
  AddLatitude();
  const auto dimensions = DescribeDimensions(PlanSamples(Input("lat")));
  ASSERT_THAT(dimensions, IsOk());
  EXPECT_EQ(PlaceSamples(dimensions->at(0), PlaceOn::kXOfLine)->axis.label, "lat (index)");
}

}  // namespace
}  // namespace ndlfs::fs
