// SPDX-License-Identifier: MIT
#include "model/file_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ndlfs::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Failure(const FileSet& files) {
  const auto names = ExpandFileSet(files);
  return names ? "none" : names.error().message();
}

FileSet Numbers(std::string pattern, int64_t from, int64_t to, int64_t step = 1) {
  return {.form = FileSet::Form::kNumbers,
          .names = {std::move(pattern)},
          .from = from,
          .to = to,
          .step = step};
}

FileSet Dates(std::string pattern, std::string first, std::string last, int64_t step,
              std::string unit) {
  return {.form = FileSet::Form::kDates,
          .names = {std::move(pattern)},
          .step = step,
          .first = std::move(first),
          .last = std::move(last),
          .unit = std::move(unit)};
}

TEST(FileSetTest, NumbersAreWrittenWithTheirWidth) {
  EXPECT_THAT(*ExpandFileSet(Numbers("a%%%03d.nc", 9, 11)),
              ElementsAre("a%009.nc", "a%010.nc", "a%011.nc"));
  EXPECT_THAT(*ExpandFileSet(Numbers("%d", 2, -2, -2)), ElementsAre("2", "0", "-2"));
}

TEST(FileSetTest, PatternsHaveOneNumber) {
  for (const char* pattern : {"a", "%", "%3d", "%003d", "%0", "%s", "%d%d", "a%%", "%0x"}) {
    EXPECT_THAT(Failure(Numbers(pattern, 1, 2)), HasSubstr("such as %d or %03d in")) << pattern;
  }
  EXPECT_THAT(Failure(Numbers("%d", 1, 2, -1)), HasSubstr("has no end"));
  EXPECT_THAT(Failure(Numbers("%d", 1, 2, 0)), HasSubstr("has no end"));
  EXPECT_THAT(Failure(Numbers("%d", INT64_MIN, INT64_MAX)),
              HasSubstr("more than 200000 parts"));
}

TEST(FileSetTest, MonthsEndOnTheirLastDay) {
  EXPECT_THAT(*ExpandFileSet(Dates("%Y%m%d", "2023-12-31", "2024-03-31", 1, "mon")),
              ElementsAre("20231231", "20240131", "20240229", "20240331"));
  EXPECT_THAT(*ExpandFileSet(Dates("%y-%j", "2020-02-29", "2022-12-31", 1, "y")),
              ElementsAre("20-060", "21-059", "22-059"));
  EXPECT_THAT(
      *ExpandFileSet(Dates("%H%M%S%%", "2020-01-01T00:00", "2020-01-01T00:01", 30, "s")),
      ElementsAre("000000%", "000030%", "000100%"));
  EXPECT_THAT(*ExpandFileSet(Dates("%d%H", "2020-01-31", "2020-02-01", 720, "min")),
              ElementsAre("3100", "3112", "0100"));
}

TEST(FileSetTest, StepsBeyondTheLastDateMakeOneName) {
  for (const int64_t step : {10'000, 30'000, 40'000, 65'536, 100'000'000}) {
    EXPECT_THAT(*ExpandFileSet(Dates("%Y", "2000", "2010", step, "y")), ElementsAre("2000"))
        << step;
    EXPECT_THAT(*ExpandFileSet(Dates("%Y", "2000", "2010", step, "mon")), ElementsAre("2000"))
        << step;
  }
  EXPECT_THAT(Failure(Dates("%Y", "2000", "2010", 100'000'001, "y")), HasSubstr("a step of"));
}

TEST(FileSetTest, DatesThatAreNoneAreRefused) {
  for (const char* date :
       {"", "x", "-1000-01-01", "2000-01-01_06:00", "10000-01-01", "2000-01-01T00:00:00.5"}) {
    EXPECT_THAT(Failure(Dates("%Y", date, "2010", 1, "y")), HasSubstr("expected a date"))
        << date;
  }
  EXPECT_THAT(Failure(Dates("%Y", "2011", "2010", 1, "y")), HasSubstr("comes after"));
  EXPECT_THAT(Failure(Dates("%Y", "2000", "2010", 0, "y")), HasSubstr("a step of 0"));
  EXPECT_THAT(Failure(Dates("%q", "2000", "2010", 1, "y")), HasSubstr("behind each %"));
  EXPECT_THAT(Failure(Dates("a%", "2000", "2010", 1, "y")), HasSubstr("behind each %"));
  EXPECT_THAT(Failure(Dates("%Y", "2000", "2010", 1, "d")), HasSubstr("of two dates"));
}

TEST(FileSetTest, ClassesOfCharactersAreThoseOfShells) {
  EXPECT_TRUE(MatchesGlob("a[0-9x]", "a5"));
  EXPECT_TRUE(MatchesGlob("a[0-9x]", "ax"));
  EXPECT_FALSE(MatchesGlob("a[0-9x]", "ay"));
  EXPECT_FALSE(MatchesGlob("a[!0-9]", "a5"));
  EXPECT_TRUE(MatchesGlob("a[^0-9]", "ay"));
  EXPECT_TRUE(MatchesGlob("a[xy-]", "a-"));
  EXPECT_TRUE(MatchesGlob("a[x", "a[x")) << "no class without its end";
  EXPECT_FALSE(MatchesGlob("*.nc", ".nc")) << "hidden files are not meant";
  EXPECT_TRUE(MatchesGlob(".*", ".nc"));
  EXPECT_TRUE(HasWildcard("a[1]"));
}

}  // namespace
}  // namespace ndlfs::model
