// SPDX-License-Identifier: MIT
#include "fs/view/picture/drawing/ticks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace ndlfs::fs::picture {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Labels(const Ticks& ticks) {
  std::vector<std::string> labels;
  for (const Tick& tick : ticks.ticks) labels.push_back(tick.label);
  return labels;
}

TEST(LinearTicksTest, StandAtRoundNumbers) {
  const Ticks ticks = LinearTicks(-0.3, 10.2, 6);
  EXPECT_THAT(Labels(ticks), ElementsAre("0.0", "2.5", "5.0", "7.5", "10.0"));
  EXPECT_NEAR(ticks.ticks[0].at, 0.3 / 10.5, 1e-12);
  EXPECT_NEAR(ticks.ticks[4].at, 10.3 / 10.5, 1e-12);
  EXPECT_EQ(ticks.factor, "");
}

TEST(LinearTicksTest, NegativeNumbersHaveAMinusSign) {
  EXPECT_THAT(Labels(LinearTicks(-20, 20, 5)),
              ElementsAre("\u221220", "\u221210", "0", "10", "20"));
}

TEST(LinearTicksTest, AnAxisMayGoDown) {
  const Ticks ticks = LinearTicks(1000, 0, 5);
  ASSERT_EQ(ticks.ticks.front().label, "0");
  EXPECT_EQ(ticks.ticks.front().at, 1);
  EXPECT_EQ(ticks.ticks.back().at, 0);
}

TEST(LinearTicksTest, LargeAndSmallNumbersShareAPowerOfTen) {
  const Ticks large = LinearTicks(0, 3e8, 4);
  EXPECT_EQ(large.factor, "\u00d710\u2078");
  EXPECT_THAT(Labels(large), ElementsAre("0", "1", "2", "3"));
  const Ticks small = LinearTicks(0, 3e-7, 4);
  EXPECT_EQ(small.factor, "\u00d710\u207b\u2077");
  EXPECT_THAT(Labels(small), ElementsAre("0", "1", "2", "3"));
}

TEST(LinearTicksTest, NumbersWithManyDigitsInCommonAreShownWithoutThese) {
  const Ticks ticks = LinearTicks(1600000000, 1600000004, 5);
  EXPECT_EQ(ticks.factor, "+ 1600000000");
  EXPECT_THAT(Labels(ticks), ElementsAre("0", "1", "2", "3", "4"));
}

TEST(LinearTicksTest, ExtremesAreHarmless) {
  const double most = std::numeric_limits<double>::max();
  const double least = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(LinearTicks(5, 5, 6).ticks.size(), 1U);
  EXPECT_EQ(LinearTicks(-most, most, 6).ticks.size(), 3U);
  EXPECT_LE(LinearTicks(0, least, 6).ticks.size(), 65U);
  EXPECT_LE(LinearTicks(1e17, 1e17 + 32, 6).ticks.size(), 65U);
}

TEST(LinearTicksTest, AreNeverMoreThanAskedForAndLieOnTheAxis) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponents(-20, 20);
  for (int i = 0; i < 2000; ++i) {
    const double low = (random() % 2 == 0 ? 1 : -1) * std::pow(10, exponents(random));
    const double high = low + std::pow(10, exponents(random));
    if (high <= low || (high - low) < std::abs(low) * 1e-12) continue;
    const Ticks ticks = LinearTicks(low, high, 7);
    EXPECT_LE(ticks.ticks.size(), 8U) << low << ' ' << high;
    EXPECT_GE(ticks.ticks.size(), 2U) << low << ' ' << high;
    for (const Tick& tick : ticks.ticks) {
      EXPECT_GE(tick.at, -1e-6);
      EXPECT_LE(tick.at, 1 + 1e-6);
    }
  }
}

TEST(LogTicksTest, StandAtPowersOfTen) {
  EXPECT_THAT(
      Labels(LogTicks(1e-6, 1e6, 13)),
      ElementsAre("10\u207b\u2076", "10\u207b\u2075", "10\u207b\u2074", "10\u207b\u00b3",
                  "0.01", "0.1", "1", "10", "100", "1000", "10\u2074", "10\u2075", "10\u2076"));
  EXPECT_THAT(Labels(LogTicks(1, 100, 8)), ElementsAre("1", "2", "5", "10", "20", "50", "100"));
  EXPECT_LE(LogTicks(1e-300, 1e300, 8).ticks.size(), 9U);
}

TEST(NumberTextTest, IsWhatAPersonWrites) {
  EXPECT_EQ(NumberText(0.1), "0.1");
  EXPECT_EQ(NumberText(-273.15), "\u2212273.15");
  EXPECT_EQ(NumberText(1e-7), "10\u207b\u2077");
  EXPECT_EQ(NumberText(-1.5e20), "\u22121.5\u00d710\u00b2\u2070");
  EXPECT_EQ(NumberText(std::numeric_limits<double>::infinity()), "inf");
}

TEST(UnitTextTest, HasExponents) {
  EXPECT_EQ(UnitText("kg m-2 s-1"), "kg m\u207b\u00b2 s\u207b\u00b9");
  EXPECT_EQ(UnitText("m^2"), "m\u00b2");
  EXPECT_EQ(UnitText("m**-3"), "m\u207b\u00b3");
  EXPECT_EQ(UnitText("W m2"), "W m\u00b2");
  EXPECT_EQ(UnitText("degrees_north"), "degrees_north");
  EXPECT_EQ(UnitText("1e-6"), "1e-6") << "a number";
  EXPECT_EQ(UnitText("days since 2000-01-01"), "days since 2000-01-01");
  EXPECT_EQ(UnitText(""), "");
}

}  // namespace
}  // namespace ndlfs::fs::picture
