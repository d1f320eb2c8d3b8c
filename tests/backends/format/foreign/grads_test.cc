// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "backends/format/foreign/foreign.h"
#include "backends/format/foreign/grads_time.h"
#include "tests/backends/format/foreign/foreign_files.h"
#include "tests/support/replace.h"
#include "tests/support/result.h"

namespace ndlfs::backends {
namespace {

using foreign::GradsTimes;
using test::ForeignFiles;
using test::Numbers;
using test::Replace;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Two times; "t" on two levels and "p" on none, on a grid of 2 by 3: 18 numbers a time.
const std::string kDescriptor =
    "DSET ^a.dat\n* comment\nTITLE some words\nUNDEF -999\nOPTIONS little_endian\n"
    "XDEF 3 LINEAR 10 2.5\nYDEF 2 LEVELS -5\n 20\nZDEF 2 LEVELS 1000 500\n"
    "TDEF 2 LINEAR 06Z30DEC1999 1DY\nVARS 2\nt 2 99 temperature\n@ t String units K\n"
    "p 0 99 pressure\nENDVARS\n";

std::vector<float> Range(int begin, int count) {
  std::vector<float> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(static_cast<float>(begin + i));
  return numbers;
}

// Those of t at one time, and of p.
std::string T(int time) { return Numbers(Range(18 * time, 12)); }
std::string P(int time) { return Numbers(Range(18 * time + 12, 6)); }

class GradsTest : public ::testing::Test {
 protected:
  std::string ErrorOf(const std::string& text) {
    files_.Put("a.ctl", text);
    const std::string error = files_.ErrorOf("a.ctl");
    return error.empty() ? files_.ArrayErrorOf("a.ctl", "t") : error;
  }
  ForeignFiles files_{GradsFormat()};
};

TEST_F(GradsTest, VariablesAreArraysWithCoordinates) {
  files_.Put("a.ctl", kDescriptor);
  files_.Put("a.dat", Numbers(Range(0, 36)));
  EXPECT_TRUE(files_.IsStore("a.ctl"));
  EXPECT_THAT(files_.ShapeOf("a.ctl", "t"), ElementsAre(2, 2, 2, 3));
  EXPECT_THAT(files_.ShapeOf("a.ctl", "p"), ElementsAre(2, 2, 3));
  EXPECT_EQ(files_.Elements("a.ctl", "t"), T(0) + T(1));
  EXPECT_EQ(files_.Elements("a.ctl", "p"), P(0) + P(1));
  EXPECT_THAT(files_.Coordinates("a.ctl", "lon"), ElementsAre(10, 12.5, 15));
  EXPECT_THAT(files_.Coordinates("a.ctl", "lat"), ElementsAre(-5, 20));
  EXPECT_THAT(files_.Coordinates("a.ctl", "lev"), ElementsAre(1000, 500));
  EXPECT_THAT(files_.Coordinates("a.ctl", "time"), ElementsAre(0, 1));
  EXPECT_EQ(files_.AttributeOf("a.ctl", "time", "units"),
            model::Value("days since 1999-12-30 06:00:00"));
  EXPECT_EQ(files_.AttributeOf("a.ctl", "t", "units"), model::Value("K"));
  EXPECT_EQ(files_.AttributeOf("a.ctl", "t", "_FillValue"), model::Value(-999.0));
}

TEST_F(GradsTest, ReversedAxesHaveReversedCoordinates) {
  files_.Put("a.ctl", Replace(kDescriptor, "little_endian", "yrev zrev"));
  files_.Put("a.dat", Numbers(Range(0, 36)));
  EXPECT_EQ(files_.Elements("a.ctl", "p"), P(0) + P(1));
  EXPECT_THAT(files_.Coordinates("a.ctl", "lat"), ElementsAre(20, -5));
  EXPECT_THAT(files_.Coordinates("a.ctl", "lev"), ElementsAre(500, 1000));
}

TEST_F(GradsTest, ReadsBigEndianRecords) {
  std::string file;
  for (int grid = 0; grid < 6; ++grid) {
    const std::string marker = Numbers<int32_t>({24}, true);
    file += marker + Numbers(Range(6 * grid, 6), true) + marker;
  }
  files_.Put("a.dat", file);
  files_.Put("a.ctl", Replace(kDescriptor, "little_endian", "big_endian sequential"));
  EXPECT_EQ(files_.Elements("a.ctl", "t"), T(0) + T(1));
  EXPECT_EQ(files_.Elements("a.ctl", "p"), P(0) + P(1));
  EXPECT_THAT(ErrorOf(Replace(kDescriptor, "little_endian", "sequential")),
              HasSubstr("a record of 402653184 bytes, expected 24"));
}

TEST_F(GradsTest, HeadersAreSkipped) {
  std::string file = "file";
  for (int time = 0; time < 2; ++time) {
    file += "time";
    for (int grid = 0; grid < 3; ++grid) file += "xy" + Numbers(Range(18 * time + 6 * grid, 6));
  }
  files_.Put("a.dat", file);
  files_.Put("a.ctl", "FILEHEADER 4\nTHEADER 4\nXYHEADER 2\n" + kDescriptor);
  EXPECT_EQ(files_.Elements("a.ctl", "t"), T(0) + T(1));
  EXPECT_EQ(files_.Elements("a.ctl", "p"), P(0) + P(1));
}

TEST_F(GradsTest, TemplateLeadsToAFileForEachTime) {
  files_.Put("a.ctl", Replace(Replace(kDescriptor, "a.dat", "%y4/%m2%d2.dat"), "little_endian",
                              "template"));
  files_.Put("1999/1230.dat", T(0) + P(0));
  files_.Put("1999/1231.dat", T(1) + P(1));
  EXPECT_EQ(files_.Elements("a.ctl", "t"), T(0) + T(1));
  EXPECT_EQ(files_.Elements("a.ctl", "p"), P(0) + P(1));
  files_.source().Remove("1999/1230.dat");
  EXPECT_EQ(files_.Elements("a.ctl", "p"), Numbers(std::vector<float>(6, -999)) + P(1))
      << "an absent file is undefined";
  files_.Put("1999/1230.dat", "short");
  EXPECT_THAT(files_.ArrayErrorOf("a.ctl", "p"), HasSubstr("5 bytes, the header needs"));
}

TEST_F(GradsTest, FileOfATemplateMayHaveSeveralTimes) {
  files_.Put("a.ctl", Replace(Replace(Replace(kDescriptor, "a.dat", "%y4%mc.dat"),
                                      "little_endian", "template"),
                              "TDEF 2", "TDEF 3"));
  files_.Put("1999dec.dat", T(0) + P(0) + T(1) + P(1));
  files_.Put("2000jan.dat", T(2) + P(2));
  EXPECT_EQ(files_.Elements("a.ctl", "p"), P(0) + P(1) + P(2));
  EXPECT_EQ(files_.Elements("a.ctl", "t"), T(0) + T(1) + T(2));
}

TEST_F(GradsTest, ProjectedGridsAreShownAsTheFileHasThem) {
  files_.Put("a.ctl", Replace(Replace(kDescriptor, "XDEF 3", "XDEF 30"), "TITLE",
                              "PDEF 3 2 lcc 25 -95 1 1 25 25 -95 40000 40000\nTITLE"));
  files_.Put("a.dat", Numbers(Range(0, 36)));
  EXPECT_THAT(files_.ShapeOf("a.ctl", "p"), ElementsAre(2, 2, 3));
  EXPECT_EQ(files_.Elements("a.ctl", "p"), P(0) + P(1));
  EXPECT_THAT(files_.Open("a.ctl").value()->List("/").value(),
              ElementsAre("lev", "p", "t", "time"));
  EXPECT_EQ(files_.AttributeOf("a.ctl", "", "PDEF"),
            model::Value("3 2 lcc 25 -95 1 1 25 25 -95 40000 40000"));
}

TEST_F(GradsTest, MembersOfAnEnsembleFollowEachOtherOrHaveFiles) {
  const std::string one = T(0) + P(0) + T(1) + P(1);
  const std::string other = T(2) + P(2) + T(3) + P(3);
  files_.Put("a.dat", one + other);
  for (const char* members :
       {"EDEF 2 NAMES a\n b\n", "EDEF 2\na 2 06Z30DEC1999\n b 2 06Z30DEC1999\nENDEDEF\n"}) {
    files_.Put("a.ctl", Replace(kDescriptor, "VARS", members + std::string("VARS")));
    EXPECT_THAT(files_.ShapeOf("a.ctl", "t"), ElementsAre(2, 2, 2, 2, 3)) << members;
    EXPECT_EQ(files_.Elements("a.ctl", "t"), T(0) + T(1) + T(2) + T(3)) << members;
    EXPECT_EQ(files_.Elements("a.ctl", "p"), P(0) + P(1) + P(2) + P(3)) << members;
  }
  files_.Put("m_a.dat", one);
  files_.Put("m_b.dat", other);
  files_.Put("a.ctl", Replace(Replace(Replace(kDescriptor, "a.dat", "m_%e.dat"),
                                      "little_endian", "template"),
                              "VARS", "EDEF 2 NAMES a b\nVARS"));
  EXPECT_EQ(files_.Elements("a.ctl", "p"), P(0) + P(1) + P(2) + P(3));
  files_.Put("a.ctl", Replace(Replace(Replace(kDescriptor, "a.dat", "%e_%d2.dat"),
                                      "little_endian", "template"),
                              "VARS", "EDEF 2 NAMES a b\nVARS"));
  EXPECT_THAT(files_.ErrorOf("a.ctl"), HasSubstr("members in several files each"));
  files_.Put("a.ctl", Replace(kDescriptor, "VARS", "EDEF 1 NAMES a\nVARS"));
  EXPECT_THAT(files_.ShapeOf("a.ctl", "p"), ElementsAre(2, 2, 3));
}

TEST_F(GradsTest, AbsentFileIsAnErrorWithoutATemplate) {
  EXPECT_THAT(ErrorOf(kDescriptor), HasSubstr("there is no data file \"a.dat\""));
}

TEST_F(GradsTest, RefusesWhatItCannotRead) {
  files_.Put("a.dat", Numbers(Range(0, 36)));
  const auto with = [](const char* from, const char* to) {
    return Replace(kDescriptor, from, to);
  };
  const std::vector<std::pair<std::string, std::string>> cases = {
      {with("XDEF 3 LINEAR", "XDEF 0 LINEAR"), "XDEF: no coordinates"},
      {with("XDEF 3 LINEAR", "XDEF -3 LINEAR"), "XDEF: \"-3\" is no number"},
      {with("XDEF 3 LINEAR 10 2.5", "XDEF 3 LINEAR 10"), "XDEF: expected"},
      {with("XDEF 3 LINEAR", "XDEF 3 CURVED"), "XDEF: \"curved\""},
      {with("XDEF 3 LINEAR 10 2.5\n", ""), "XDEF, YDEF or VARS is missing"},
      {with("YDEF 2", "YDEF 1000000"), "is no number"},
      {with("XDEF 3", "XDEF 4294967296"), "the header needs"},
      {with("XDEF 3", "XDEF 9223372036854775807"), "more data than any file"},
      {with("TDEF 2", "TDEF 3"), "144 bytes, the header needs"},
      {with("TDEF 2", "TDEF 0"), "TDEF: 0 times"},
      {with("TDEF 2", "TDEF 9223372036854775807"), "TDEF: 9223372036854775807 times"},
      {with("1DY", "1MO\n*"), ""},
      {with("1DY", "0DY"), "\"0DY\" is no increment"},
      {with("1DY", "1WK"), "\"1WK\" is no increment"},
      {with("06Z30DEC1999", "06Z30DECEMBER"), "is no date"},
      {with("06Z30DEC1999", "25Z30DEC1999"), "is no date"},
      {with("LINEAR 06Z", "LEVELS 06Z"), "TDEF: expected"},
      {with("VARS 2", "VARS 3"), "2 variables instead of 3"},
      {with("VARS 2", "VARS 100000"), "VARS: 100000 variables"},
      {with("t 2 99", "t 3 99"), "3 levels of 2"},
      {with("t 2 99", "t x 99"), "\"x\" is no number"},
      {with("t 2 99", "t 2 -1,20"), "units \"-1,20\""},
      {with("^a.dat", "^../../a.dat"), "outside of the source"},
      {with("^a.dat", "/etc/passwd"), "outside of the source"},
      {with("DSET ^a.dat", "DSET"), "DSET names no file"},
      {with("little_endian", "template\nEDEF 2 NAMES 1 2"), "the header needs"},
      {with("little_endian", "zrev\nEDEF 0 NAMES"), "EDEF: 0 members"},
      {with("little_endian", "zrev\nEDEF 99999999 NAMES"), "EDEF: 99999999 members"},
      {with("little_endian", "zrev\nEDEF 2\na 2 00Z01JAN2000\nb 3 00Z01JAN2000\nENDEDEF"),
       "members of different times"},
      {with("little_endian", "zrev\nEDEF 2\na 3 00Z01JAN2000\nb 3 00Z01JAN2000\nENDEDEF"),
       "members of other times"},
      {with("little_endian", "zrev\nEDEF 3\na 2 x\nENDEDEF"), "fewer than 3 members"},
      {with("little_endian", "cray_32bit_ieee"), "OPTIONS: the field \"cray_32bit_ieee\""},
      {with("TITLE", "HEADERBYTES 4\nTITLE"), "the field \"headerbytes\" is not known"},
      {with("little_endian", "sequential\nFILEHEADER 4"), "headers between records"},
      {with("TITLE", "PDEF 10 10 nps 1 2 3 4\nTITLE"), "the header needs"},
      {with("TITLE", "PDEF 0 10 nps 1 2 3 4\nTITLE"), "PDEF: no columns or rows"},
      {Replace(with("a.dat", "%y4%q9.dat"), "little_endian", "template"), "\"%q9\""},
      {Replace(with("a.dat", "%"), "little_endian", "template"), "in the name of files"},
      {Replace(with("TDEF 2", "TDEF 4000000000"), "little_endian", "template"),
       "4000000000 times in files"}};
  for (const auto& [text, error] : cases) {
    if (error.empty()) {
      EXPECT_EQ(ErrorOf(text), "") << text;
    } else {
      EXPECT_THAT(ErrorOf(text), HasSubstr(error)) << text;
    }
  }
}

TEST_F(GradsTest, DescriptorThatIsCutAnywhereIsNoStoreOrAnErrorOrLacksVariables) {
  files_.Put("a.dat", Numbers(Range(0, 36)));
  for (size_t size = 0; size < kDescriptor.size(); ++size) {
    files_.Put("a.ctl", kDescriptor.substr(0, size));
    if (!files_.IsStore("a.ctl") || !files_.ErrorOf("a.ctl").empty()) continue;
    if (!files_.ArrayErrorOf("a.ctl", "t").empty()) continue;
    EXPECT_EQ(files_.Elements("a.ctl", "t"), T(0) + T(1)) << size;
  }
}

GradsTimes Times(const char* start, const char* increment, uint64_t count,
                 bool has_leap_years = true) {
  return GradsTimes::Parse(start, increment, count, has_leap_years).value();
}

TEST(GradsTimesTest, MonthsAndYearsFollowTheCalendar) {
  const auto months = Times("jan2000", "1mo", 4);
  EXPECT_FALSE(months.step());
  EXPECT_EQ(months.CoordinateAt(1), 31);
  EXPECT_EQ(months.CoordinateAt(3), 91);
  EXPECT_EQ(Times("15jan2000", "1yr", 3).CoordinateAt(2), 731);
  EXPECT_EQ(Times("jan2000", "1mo", 4, false).CoordinateAt(3), 90);
  EXPECT_EQ(months.units(), "days since 2000-01-01 00:00:00");
}

TEST(GradsTimesTest, NamesHaveTheDatesOfTheirTime) {
  const auto times = Times("18:30Z28feb2000", "6hr", 10);
  EXPECT_EQ(times.FillIn("x%y4%m2%d2_%h2%n2.dat", 1), std::string("x20000229_0030.dat"));
  EXPECT_EQ(times.FillIn("%y2%m1%mc%d1%h3", 0), std::string("002feb28018"));
  EXPECT_EQ(times.FillIn("%j3-%t4-%f3-%iy4%id2", 2), std::string("060-0003-012-200028"));
  EXPECT_EQ(Times("28feb2001", "1dy", 2).FillIn("%m2%d2", 1), std::string("0301"));
  EXPECT_EQ(Times("28feb2000", "1dy", 2, false).FillIn("%m2%d2", 1), std::string("0301"));
  EXPECT_EQ(Times("1jan50", "1yr", 2).FillIn("%y4", 1), std::string("1951"));
  EXPECT_EQ(Times("1jan49", "1yr", 2).FillIn("%y4", 0), std::string("2049"));
}

TEST(GradsTimesTest, FarTimesDoNotOverflow) {
  for (const char* increment : {"100000mn", "100000hr", "100000dy", "100000mo", "100000yr"}) {
    for (const bool has_leap_years : {true, false}) {
      const auto times = Times("31dec9999", increment, 4'294'967'296, has_leap_years);
      EXPECT_THAT(times.FillIn("%y4%m2%d2%h2", 4'294'967'295), test::IsOk());
      EXPECT_GT(times.CoordinateAt(4'294'967'295), 0);
    }
  }
}

}  // namespace
}  // namespace ndlfs::backends
