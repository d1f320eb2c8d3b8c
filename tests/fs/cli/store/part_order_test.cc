// SPDX-License-Identifier: MIT
#include "fs/cli/store/part_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace ndlfs::fs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

PartPlace At(const std::string& name, const std::vector<double>& coordinates) {
  PartPlace part{name, name};
  part.SetCoordinates(coordinates);
  return part;
}

std::vector<std::string> NamesOf(const std::vector<PartPlace>& parts) {
  std::vector<std::string> names;
  for (const PartPlace& part : parts) names.push_back(part.name);
  return names;
}

TEST(PartOrderTest, PartsAreSortedByTheirFirstCoordinate) {
  std::vector<PartPlace> parts = {At("c", {4, 5}), At("a", {0, 1}), At("b", {2, 3})};
  const PartOrder order = SortParts(parts);
  EXPECT_THAT(NamesOf(parts), ElementsAre("a", "b", "c"));
  EXPECT_THAT(order.notes, IsEmpty());
  EXPECT_FALSE(order.overlaps);
}

TEST(PartOrderTest, GapsBetweenMonthsAreSaid) {
  const double day = 86400e9;
  const auto year = [&](const std::string& name, double first) {
    std::vector<double> months;
    for (const double length : {0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30}) {
      months.push_back((months.empty() ? first : months.back() / day + length) * day);
    }
    return At(name, months);
  };
  std::vector<PartPlace> parts = {year("1990", 15), year("1991", 380), year("1993", 1110)};
  EXPECT_THAT(SortParts(parts).notes, ElementsAre("gap: 1991 and 1993"));
}

TEST(PartOrderTest, CoordinatesThatDescendAreSortedDownwards) {
  std::vector<PartPlace> parts = {At("c", {-1, -2}), At("a", {3, 2}), At("b", {1, 0})};
  EXPECT_THAT(SortParts(parts).notes, IsEmpty());
  EXPECT_THAT(NamesOf(parts), ElementsAre("a", "b", "c"));
}

TEST(PartOrderTest, AGapIsSaidWithBothNeighbours) {
  std::vector<PartPlace> parts = {At("a", {0, 1}), At("b", {2, 3}), At("c", {5, 6})};
  const PartOrder order = SortParts(parts);
  EXPECT_THAT(order.notes, ElementsAre("gap: b and c"));
  EXPECT_FALSE(order.overlaps);
}

TEST(PartOrderTest, PartsOfOneElementHaveTheStepOfTheirNeighbours) {
  std::vector<PartPlace> parts = {At("a", {0}), At("b", {1}), At("c", {2}), At("e", {4}),
                                  At("f", {5})};
  EXPECT_THAT(SortParts(parts).notes, ElementsAre("gap: c and e"));
}

TEST(PartOrderTest, DuplicatesAndOverlapsAreSaid) {
  std::vector<PartPlace> parts = {At("a", {0, 1}), At("twice", {0, 1}), At("b", {1, 2})};
  const PartOrder order = SortParts(parts);
  EXPECT_THAT(order.notes, ElementsAre("duplicate: a and twice", "overlap: twice and b"));
  EXPECT_TRUE(order.overlaps);
}

TEST(PartOrderTest, MonthsOfDifferentLengthsAreNoGaps) {
  std::vector<PartPlace> parts = {At("jan", {0}), At("feb", {31}), At("mar", {59}),
                                  At("apr", {90})};
  EXPECT_THAT(SortParts(parts).notes, IsEmpty());
}

TEST(PartOrderTest, RoundedCoordinatesHaveAStep) {
  std::vector<PartPlace> parts = {At("a", {0.1, 0.2, 0.30000000000000004}),
                                  At("b", {0.4, 0.5})};
  EXPECT_TRUE(parts[0].step);
  EXPECT_THAT(SortParts(parts).notes, IsEmpty());
}

TEST(PartOrderTest, WithoutCoordinatesTheOrderStays) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<PartPlace> parts = {At("c", {4}), At("a", {0, nan}), At("b", {})};
  EXPECT_FALSE(parts[1].first);
  EXPECT_THAT(SortParts(parts).notes, IsEmpty());
  EXPECT_THAT(NamesOf(parts), ElementsAre("c", "a", "b"));
}

}  // namespace
}  // namespace ndlfs::fs
