// SPDX-License-Identifier: MIT
//
// The key x-source of documents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "model/file_set.h"
#include "model/ndl/ndl_reader.h"
#include "model/ndl/ndl_writer.h"

namespace ndlfs::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string ArrayDocument(const std::string& entry) {
  return "/:\n  ndarrays:\n    a: " + entry + "\n";
}

std::string ErrorOf(const std::string& document) {
  const auto parsed = ReadNdl(document, "a.yaml");
  return parsed.errors.empty() ? "no error" : FormatDiagnostic("a.yaml", parsed.errors.front());
}

class SourceRoundTripTest : public ::testing::TestWithParam<const char*> {};

TEST_P(SourceRoundTripTest, ReadsBackEqual) {
  const auto parsed = ReadNdl(GetParam(), "a.yaml");
  ASSERT_TRUE(parsed.file) << ErrorOf(GetParam());
  const std::string written = WriteFile(*parsed.file);
  EXPECT_THAT(written, HasSubstr("x-source"));
  const auto again = ReadNdl(written, "a.yaml");
  ASSERT_TRUE(again.file) << written << ErrorOf(written);
  EXPECT_EQ(*again.file, *parsed.file) << written;
  EXPECT_EQ(WriteFile(*again.file), written);
}

INSTANTIATE_TEST_SUITE_P(
    All, SourceRoundTripTest,
    ::testing::Values(
        "/: {ndarrays: {a: {shape: [2], type: int8, x-source: {file: a.bin}}}}",
        "/: {ndarrays: {a: {shape: [2, 3], type: int8, x-source: {file: 'a b.bin', offset: "
        "512, "
        "trailer: 0, order: F, records: fortran}}}}",
        "/: {ndarrays: {a: {shape: [2], type: {enum: {base: int8, members: {\"FALSE\": 0, "
        "\"TRUE\": 1}}}, x-source: {file: a, bits: highest-first}}}}",
        "/: {ndarrays: {a: {x-source: {store: ../grid.zarr, path: /mask}}}}",
        "/: {dimcoords: {t: {x-source: {store: a.nc}}}}",
        "/: {dimcoords: {t: {size: null, type: int32, x-source: {join: '*.nc', along: 0}}}}",
        "/: {ndarrays: {a: {x-source: {join: [b.nc, a.nc], along: time, sizes: [2, 3], unpack: "
        "true, missing: fill, tolerance: 1.0e-6}}}}",
        "/: {ndarrays: {a: {shape: [24], type: int8, x-source: {join: {files: p%03d.dat, from: "
        "1, to: 24}, offset: 0}}}}",
        "/: {ndarrays: {a: {x-source: {join: {files: 'p%d', from: 9, to: 1, step: -2}, along: "
        "1, "
        "sizes: 5}}}}",
        "/: {ndarrays: {a: {x-source: {join: {files: '%Y/%m.nc', from: 1992-01, to: 1993-12, "
        "step: 1mon}, path: /g/a, along: time}}}}",
        "/: {x-source: {join: '1992/*.nc', along: time}}",
        "/g: {x-source: {store: a.nc, path: /x}}",
        "/: {x-source: {union: [a.nc, b.nc]}, attributes: {a: 1}}"));

struct Mistake {
  const char* name;
  const char* entry;
  const char* words;
};
class SourceMistakeTest : public ::testing::TestWithParam<Mistake> {};

TEST_P(SourceMistakeTest, IsSaidWithItsPlace) {
  const std::string error = ErrorOf(ArrayDocument(GetParam().entry));
  EXPECT_THAT(error, HasSubstr(GetParam().words));
  EXPECT_THAT(error, HasSubstr("a.yaml:3:"));
  EXPECT_THAT(error, HasSubstr("/a: "));
}

INSTANTIATE_TEST_SUITE_P(
    All, SourceMistakeTest,
    ::testing::Values(
        Mistake{"NoMapping", "{x-source: a.nc}", "expected a mapping"},
        Mistake{"NoKind", "{x-source: {path: /a}}", "one of the keys file, store or join"},
        Mistake{"MisspelledKind", "{x-source: {stor: a.nc}}", "did you mean store?"},
        Mistake{"TwoKinds", "{x-source: {store: a.nc, file: b}}", "found store and file"},
        Mistake{"UnionOfAnArray", "{x-source: {union: [a.nc]}}", "one of the keys"},
        Mistake{"UnknownKey", "{x-source: {store: a.nc, along: 0}}", "unknown key \"along\""},
        Mistake{"AbsolutePath", "{x-source: {store: /a.nc}}", "relative to the document"},
        Mistake{"RelativeObject", "{x-source: {store: a.nc, path: sst}}", "begins with \"/\""},
        Mistake{"ValueToo", "{shape: [], type: int8, value: 1, x-source: {file: a}}",
                "a value or an x-source"},
        Mistake{"FileWithoutShape", "{type: int8, x-source: {file: a}}",
                "the key \"shape\" is missing"},
        Mistake{"FileWithoutType", "{shape: [1], x-source: {file: a}}",
                "the key \"type\" is missing"},
        Mistake{"NegativeOffset", "{shape: [1], type: int8, x-source: {file: a, offset: -1}}",
                "offset"},
        Mistake{"Order", "{shape: [1], type: int8, x-source: {file: a, order: fortran}}",
                "order"},
        Mistake{"Records", "{shape: [1], type: int8, x-source: {file: a, records: c}}",
                "records"},
        Mistake{"EmptyList", "{x-source: {join: [], along: 0}}", "expected a list of paths"},
        Mistake{"NoNumberInPattern",
                "{x-source: {join: {files: a.nc, from: 1, to: 2}, along: 0}}",
                "expected a number such as"},
        Mistake{"TwoNumbersInPattern",
                "{x-source: {join: {files: '%d-%d', from: 1, to: 2}, along: 0}}",
                "expected one number"},
        Mistake{"EndlessNumbers",
                "{x-source: {join: {files: '%d', from: 1, to: 2, step: -1}, along: 0}}",
                "has no end"},
        Mistake{"NoStep",
                "{x-source: {join: {files: '%d', from: 1, to: 2, step: 0}, along: 0}}",
                "has no end"},
        Mistake{"TooManyNumbers",
                "{x-source: {join: {files: '%d', from: 0, to: 1000000000000}, along: 0}}",
                "more than 200000 parts"},
        Mistake{"TooManyDates",
                "{x-source: {join: {files: '%Y%m%d%H%M%S', from: 1900-01-01, to: 2100-01-01, "
                "step: 1s}, along: 0}}",
                "more than 200000 parts"},
        Mistake{"DatesWithTheSameName",
                "{x-source: {join: {files: '%Y', from: 1992-01-01, to: 1992-01-03}, along: 0}}",
                "of two dates"},
        Mistake{"NoDate", "{x-source: {join: {files: '%Y', from: x, to: y}, along: 0}}",
                "expected a date"},
        Mistake{"BadDate",
                "{x-source: {join: {files: '%Y', from: 1992-02-30, to: 1993}, along: 0}}",
                "expected a date"},
        Mistake{"DatesBackwards",
                "{x-source: {join: {files: '%Y', from: 1993, to: 1992}, along: 0}}",
                "comes after"},
        Mistake{
            "StepUnit",
            "{x-source: {join: {files: '%Y', from: 1992, to: 1993, step: 1week}, along: 0}}",
            "6h"},
        Mistake{"SizesForEachPart", "{x-source: {join: [a, b], along: 0, sizes: [1, 2, 3]}}",
                "3 sizes, expected 2"},
        Mistake{"Unpack", "{x-source: {join: [a, b], along: 0, unpack: maybe}}",
                "true or false"},
        Mistake{"Missing", "{x-source: {join: [a, b], along: 0, missing: skip}}", "missing"},
        Mistake{"Tolerance", "{x-source: {join: [a, b], along: 0, tolerance: -1}}",
                "at least 0"},
        Mistake{"FlatWithPath", "{x-source: {join: [a, b], path: /a, records: fortran}}",
                "for flat files"},
        Mistake{"Along", "{x-source: {join: [a, b], along: [0]}}", "along"}),
    [](const auto& info) { return info.param.name; });

TEST(SourceTest, AGroupNeedsToSayAlong) {
  EXPECT_THAT(ErrorOf("/: {x-source: {join: '*.nc'}}"), HasSubstr("\"along\" is missing"));
}

TEST(FileSetTest, NumbersHaveTheirWidth) {
  FileSet files{
      .form = FileSet::Form::kNumbers, .names = {"a%03d.nc"}, .from = 8, .to = 12, .step = 2};
  EXPECT_THAT(*ExpandFileSet(files), ElementsAre("a008.nc", "a010.nc", "a012.nc"));
  files.names = {"100%%_%d"};
  EXPECT_THAT(*ExpandFileSet(files), ElementsAre("100%_8", "100%_10", "100%_12"));
}

TEST(FileSetTest, DatesKnowTheCalendar) {
  FileSet files{.form = FileSet::Form::kDates,
                .names = {"%Y/%m%d_%j.nc"},
                .first = "1992-02-28",
                .last = "1992-03-01",
                .unit = "d"};
  EXPECT_THAT(*ExpandFileSet(files),
              ElementsAre("1992/0228_059.nc", "1992/0229_060.nc", "1992/0301_061.nc"));
  files.names = {"%y%m"};
  files.unit = "mon";
  files.first = "1999-11";
  files.last = "2000-02";
  EXPECT_THAT(*ExpandFileSet(files), ElementsAre("9911", "9912", "0001", "0002"));
  files.names = {"%Y%m%dT%H%M"};
  files.unit = "h";
  files.step = 6;
  files.first = "1992-01-01T18:30";
  files.last = "1992-01-02T01:00";
  EXPECT_THAT(*ExpandFileSet(files), ElementsAre("19920101T1830", "19920102T0030"));
}

TEST(GlobTest, StarsQuestionMarksAndClasses) {
  EXPECT_TRUE(MatchesGlob("*.nc", "a.nc"));
  EXPECT_FALSE(MatchesGlob("*.nc", ".a.nc"));
  EXPECT_TRUE(MatchesGlob("a?[0-9]*", "ab7"));
  EXPECT_FALSE(MatchesGlob("a?[!0-9]*", "ab7"));
  EXPECT_FALSE(MatchesGlob("a?c", "ac"));
  EXPECT_TRUE(MatchesGlob("a*b*c", "a1b2b3c"));
  EXPECT_FALSE(MatchesGlob(std::string(200, '*') + "b", std::string(5000, 'a')));
}

}  // namespace
}  // namespace ndlfs::model
