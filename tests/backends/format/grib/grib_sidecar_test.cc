// SPDX-License-Identifier: MIT
//
// Files of GRIB messages behind a server, with sidecars (.idx, .index) that are right, cut,
// stale, or lie.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "backends/format/grib/grib.h"
#include "backends/format/grib/header_memory.h"
#include "backends/format/grib/sidecar.h"
#include "tests/support/grib_builder.h"
#include "tests/support/memory_source.h"
#include "tests/support/read_array.h"
#include "tests/support/result.h"

namespace ndlfs::backends {
namespace {

using model::ErrorCode;
using test::GribMessageOf;
using test::GribTestField;
using test::IsError;
using test::IsOk;
using test::IsOkAnd;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// A field and the words of NCEP for it.
struct NamedField {
  GribTestField field;
  std::string words;  // "TMP:500 mb:6 hour fcst"
};

std::vector<NamedField> ForecastOf(uint32_t hours) {
  std::vector<NamedField> fields;
  const auto add = [&](GribTestField field, const std::string& words) {
    field.hours = hours;
    field.values = {static_cast<float>(hours), static_cast<float>(fields.size()), 3, 4};
    fields.push_back({field, fmt::format("{}:{} hour fcst", words, hours)});
  };
  for (const uint32_t hpa : {1000, 850, 500}) {
    add({.level = hpa * 100}, fmt::format("TMP:{} mb", hpa));
    add({.category = 2, .number = 2, .level = hpa * 100}, fmt::format("UGRD:{} mb", hpa));
  }
  GribTestField rain{.category = 1, .number = 8, .surface = 1, .level = 0};
  rain.hours = 0;
  rain.length = hours;
  fields.push_back({rain, fmt::format("APCP:surface:0-{} hour acc fcst", hours)});
  return fields;
}

struct FileAndSidecar {
  std::string file, idx;
};
FileAndSidecar WriteForecast(const std::vector<NamedField>& fields) {
  FileAndSidecar written;
  for (size_t i = 0; i < fields.size(); ++i) {
    written.idx +=
        fmt::format("{}:{}:d=2025010100:{}:\n", i + 1, written.file.size(), fields[i].words);
    written.file += GribMessageOf(fields[i].field);
  }
  return written;
}

class GribSidecarTest : public testing::Test {
 protected:
  GribSidecarTest() { source_->MakeLooksRequests(); }

  // Each test has a folder of its own, because samples are kept by folders.
  std::string PathOf(const std::string& name) const {
    return std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + "/" +
           name;
  }
  void Put(const std::string& name, const FileAndSidecar& written) {
    source_->Put(PathOf(name), written.file);
    source_->Put(PathOf(name) + ".idx", written.idx);
  }
  void Open(const std::string& name) {
    source_->ForgetReads();
    auto opened = GribFormat().Open(source_, PathOf(name), {});
    ASSERT_THAT(opened, IsOk());
    hierarchy_ = *std::move(opened);
  }
  // How many bytes of the GRIB file itself were read.
  uint64_t BytesOf(const std::string& name) const {
    uint64_t bytes = 0;
    for (const auto& read : source_->reads())
      bytes += read.path == PathOf(name) ? read.size : 0;
    return bytes;
  }
  model::Result<std::vector<float>> Floats(const std::string& path) const {
    NDLFS_TRY(const auto node, hierarchy_->Load(path));
    NDLFS_TRY(const std::string bytes, test::ReadWhole(*node->source));
    std::vector<float> floats(bytes.size() / sizeof(float));
    std::memcpy(floats.data(), bytes.data(), bytes.size());
    return floats;
  }

  const std::shared_ptr<test::MemorySource> source_ = test::MemorySource::Make();
  std::shared_ptr<const Hierarchy> hierarchy_;
};

// Messages of these tests have some 190 bytes, and the seven of a file are read together.
constexpr uint64_t kOneHeader = 300, kAllHeaders = 1200;
constexpr char kTemperature[] = "/isobaricInhPa/instant/t";
constexpr char kWind[] = "/isobaricInhPa/instant/u";

TEST_F(GribSidecarTest, NextFileOfAForecastNeedsOnlyItsSidecar) {
  for (const uint32_t hours : {6, 12, 18}) {
    Put(fmt::format("f{:03}.grib2", hours), WriteForecast(ForecastOf(hours)));
  }
  Open("f006.grib2");
  EXPECT_GT(BytesOf("f006.grib2"), kAllHeaders);  // each message is of another kind
  for (const uint32_t hours : {12, 18}) {
    const std::string name = fmt::format("f{:03}.grib2", hours);
    Open(name);
    EXPECT_LT(BytesOf(name), kOneHeader);  // the last one
    EXPECT_THAT(hierarchy_->List("/isobaricInhPa/instant"),
                IsOkAnd(AllOf(Contains("t"), Contains("u"))));
    EXPECT_EQ(hierarchy_->Load(kTemperature).value()->source->spec().shape,
              (std::vector<uint64_t>{3, 2, 2}));
    const auto h = static_cast<float>(hours);
    EXPECT_THAT(Floats(kTemperature), IsOkAnd(ElementsAre(h, 0, 3, 4, h, 2, 3, 4, h, 4, 3, 4)));
    EXPECT_THAT(Floats(kWind), IsOkAnd(ElementsAre(h, 1, 3, 4, h, 3, 3, 4, h, 5, 3, 4)));
    EXPECT_THAT(Floats("/surface/accum/tp"), IsOkAnd(ElementsAre(1, 2, 3, 4)));
  }
}

TEST_F(GribSidecarTest, WhatIsListedIsWhatHeadersSay) {
  for (const uint32_t hours : {6, 12}) {
    Put(fmt::format("f{:03}.grib2", hours), WriteForecast(ForecastOf(hours)));
  }
  Open("f006.grib2");
  Open("f012.grib2");
  const auto by_sidecar = hierarchy_;
  source_->Remove(PathOf("f012.grib2.idx"));
  Open("f012.grib2");
  for (const std::string group : {"/isobaricInhPa/instant", "/surface/accum"}) {
    const auto names = hierarchy_->List(group).value();
    EXPECT_EQ(by_sidecar->List(group).value(), names);
    for (const std::string& name : names) {
      const auto a = by_sidecar->Load(group + "/" + name).value();
      const auto b = hierarchy_->Load(group + "/" + name).value();
      EXPECT_EQ(a->attributes(), b->attributes()) << name;
      EXPECT_EQ(a->source->spec().shape, b->source->spec().shape) << name;
      EXPECT_EQ(test::ReadWhole(*a->source).value(), test::ReadWhole(*b->source).value());
    }
  }
}

TEST_F(GribSidecarTest, HeadersAreComparedOnceBeforeFieldsAreRead) {
  Put("f006.grib2", WriteForecast(ForecastOf(6)));
  Put("f012.grib2", WriteForecast(ForecastOf(12)));
  Open("f006.grib2");
  Open("f012.grib2");
  ASSERT_THAT(Floats(kTemperature), IsOk());
  const uint64_t bytes = BytesOf("f012.grib2");
  ASSERT_THAT(Floats(kTemperature), IsOk());
  // The three chunks alone.
  EXPECT_EQ(BytesOf("f012.grib2"), bytes + 3 * GribMessageOf({}).size());
}

TEST_F(GribSidecarTest, SidecarThatLiesIsAnErrorAndThenNotBelieved) {
  Put("f006.grib2", WriteForecast(ForecastOf(6)));
  auto fields = ForecastOf(12);
  std::swap(fields[0].words, fields[1].words);
  Put("f012.grib2", WriteForecast(fields));
  Open("f006.grib2");
  Open("f012.grib2");
  const uint64_t version = hierarchy_->Version("/").value();
  for (const char* path : {kTemperature, kWind}) {
    EXPECT_THAT(Floats(path),
                IsError(ErrorCode::kCorrupt,
                        AllOf(HasSubstr("is not what the file beside it (.idx, .index) says"),
                              HasSubstr("it has another parameter"))));
  }
  EXPECT_NE(hierarchy_->Version("/").value(), version);
  Open("f012.grib2");
  EXPECT_THAT(Floats(kTemperature),
              IsOkAnd(ElementsAre(12, 0, 3, 4, 12, 2, 3, 4, 12, 4, 3, 4)));
}

TEST_F(GribSidecarTest, SidecarOfAnotherFileIsNotBelieved) {
  Put("f006.grib2", WriteForecast(ForecastOf(6)));
  Open("f006.grib2");
  // Of the next file, which has as many bytes.
  FileAndSidecar next = WriteForecast(ForecastOf(12));
  next.idx = WriteForecast(ForecastOf(18)).idx;
  Put("f012.grib2", next);
  Open("f012.grib2");
  EXPECT_GT(BytesOf("f012.grib2"), kAllHeaders);
  EXPECT_THAT(Floats(kTemperature),
              IsOkAnd(ElementsAre(12, 0, 3, 4, 12, 2, 3, 4, 12, 4, 3, 4)));
}

TEST_F(GribSidecarTest, SidecarOlderThanTheFileIsNotBelieved) {
  Put("f006.grib2", WriteForecast(ForecastOf(6)));
  Open("f006.grib2");
  const FileAndSidecar next = WriteForecast(ForecastOf(12));
  source_->Put(PathOf("f012.grib2.idx"), next.idx);
  source_->Put(PathOf("f012.grib2"), next.file);
  Open("f012.grib2");
  EXPECT_GT(BytesOf("f012.grib2"), kAllHeaders);
}

TEST_F(GribSidecarTest, SidecarThatIsCutIsNotBelieved) {
  Put("f006.grib2", WriteForecast(ForecastOf(6)));
  Open("f006.grib2");
  const FileAndSidecar whole = WriteForecast(ForecastOf(12));
  const size_t last_line = whole.idx.rfind("\n7:") + 1;
  for (const size_t size : {last_line, last_line + 5, whole.idx.size() - 1}) {
    Put("f012.grib2", {whole.file, whole.idx.substr(0, size)});
    Open("f012.grib2");
    EXPECT_THAT(hierarchy_->List("/"), IsOkAnd(ElementsAre("isobaricInhPa", "surface")))
        << size;
    EXPECT_GT(BytesOf("f012.grib2"), kAllHeaders) << size;
  }
}

TEST_F(GribSidecarTest, LinesThatSayTheSameAreToldApartByHeaders) {
  auto fields = ForecastOf(6);
  fields[1].words = fields[0].words;
  Put("f006.grib2", WriteForecast(fields));
  Open("f006.grib2");
  EXPECT_THAT(Floats(kTemperature), IsOkAnd(ElementsAre(6, 0, 3, 4, 6, 2, 3, 4, 6, 4, 3, 4)));
  EXPECT_THAT(Floats(kWind), IsOkAnd(ElementsAre(6, 1, 3, 4, 6, 3, 3, 4, 6, 5, 3, 4)));
}

TEST_F(GribSidecarTest, MembersOfEcmwfNeedOneHeaderOfAKind) {
  std::string file, index;
  for (uint8_t member = 1; member <= 20; ++member) {
    const std::string message =
        GribMessageOf({.hours = 6, .member = member, .values = {1, 2, 3, float(member)}});
    index += fmt::format(R"({{"domain": "g", "date": "20250101", "time": "0000", "step": "6", )"
                         R"("levtype": "pl", "levelist": "500", "param": "t", "type": "pf", )"
                         R"("number": "{}", "_offset": {}, "_length": {}}})",
                         member, file.size(), message.size());
    index += "\n";
    file += message;
  }
  source_->Put(PathOf("e.grib2"), file);
  source_->Put(PathOf("e.index"), index);
  Open("e.grib2");
  EXPECT_LT(BytesOf("e.grib2"), 6 * kOneHeader);  // the last and the first, with what follows
  const auto values = Floats(kTemperature);
  ASSERT_THAT(values, IsOkAnd(SizeIs(80)));
  EXPECT_EQ((*values)[79], 20);
  EXPECT_EQ((*values)[3], 1);
}

TEST_F(GribSidecarTest, FieldsOfOneMessageAreLinesWithAPoint) {
  const auto of_step = [](uint32_t hours) {
    FileAndSidecar written;
    written.file = test::GribMessageOfFields(
        {{.category = 2, .number = 2, .hours = hours},
         {.category = 2, .number = 3, .hours = hours, .values = {5, 6, 7, 8}}});
    written.idx = fmt::format(
        "1.1:0:d=2025010100:UGRD:500 mb:{0} hour fcst:\n1.2:0:d=2025010100:VGRD:500 mb:{0} "
        "hour "
        "fcst:\n",
        hours);
    const size_t offset = written.file.size();
    written.file += GribMessageOf({.hours = hours});
    written.idx += fmt::format("2:{}:d=2025010100:TMP:500 mb:{} hour fcst:\n", offset, hours);
    return written;
  };
  Put("f006.grib2", of_step(6));
  Put("f012.grib2", of_step(12));
  Open("f006.grib2");
  Open("f012.grib2");
  EXPECT_LT(BytesOf("f012.grib2"), kOneHeader);
  EXPECT_THAT(Floats("/isobaricInhPa/instant/v"), IsOkAnd(ElementsAre(5, 6, 7, 8)));
  EXPECT_THAT(Floats(kWind), IsOkAnd(ElementsAre(1, 2, 3, 4)));
}

TEST(GribSidecarLinesTest, LinesOfNcep) {
  const auto sidecar = grib::ReadSidecar(
      "1:0:d=2025080106:APCP:surface:6-8 hour acc fcst:\n"
      "2:300:d=2025080106:TMP:2 m above ground:anl:ENS=+1\n"
      "3:400:d=2025080106:TMP:2 m above ground:15 min fcst:\n"
      "4:500:d=2025080106:TMP:2 m above ground:a long time ago:\n");
  ASSERT_THAT(sidecar.lines, SizeIs(4));
  EXPECT_EQ(sidecar.lines[0].kind, "APCP:surface:interval acc fcst:");
  EXPECT_EQ(sidecar.lines[0].step, 8 * 3600);
  EXPECT_EQ(sidecar.lines[0].interval, 2 * 3600);
  EXPECT_EQ(sidecar.lines[0].reference, 1754028000);
  EXPECT_EQ(sidecar.lines[1].kind, "TMP:2 m above ground:anl:ENS=+1");
  EXPECT_EQ(sidecar.lines[1].step, 0);
  EXPECT_EQ(sidecar.lines[2].step, 900);
  EXPECT_FALSE(sidecar.lines[3].step);
}

TEST(GribSidecarLinesTest, LinesThatDoNotFollowEachOtherAreNone) {
  const std::string first = "1:0:d=2025080106:TMP:surface:anl:\n";
  for (const std::string text :
       {"1:8:d=2025080106:TMP:surface:anl:\n", "1:0:d=2025083206:TMP:surface:anl:\n",
        "1:0:d=20250801x6:TMP:surface:anl:\n", "1:0:TMP:surface:anl:x:y:\n"}) {
    EXPECT_THAT(grib::ReadSidecar(text).lines, SizeIs(0)) << text;
  }
  EXPECT_THAT(grib::ReadSidecar(first).lines, SizeIs(1));
  EXPECT_THAT(grib::ReadSidecar(first + first).lines, SizeIs(0));
  EXPECT_THAT(grib::ReadSidecar(first + "no line\n").lines, SizeIs(0));
  EXPECT_THAT(grib::ReadSidecar(first + "2.2:9:d=2025080106:TMP:surface:anl:\n").lines,
              SizeIs(0));
  const std::string json =
      R"({"date":"20250101","time":"0000","step":"0","_offset":0,"_length":9})";
  EXPECT_THAT(grib::ReadSidecar(json + "\n").lines, SizeIs(1));
  EXPECT_THAT(
      grib::ReadSidecar(
          json + "\n" +
          R"({"date":"20250101","time":"0000","step":"0","_offset":10,"_length":9})" + "\n")
          .lines,
      SizeIs(0));
}

}  // namespace
}  // namespace ndlfs::backends
