// SPDX-License-Identifier: MIT
//
// Files of GRIB messages as stores.
#include "backends/format/grib/grib.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "backends/format/grib/levels.h"
#include "backends/format/grib/parameters.h"
#include "backends/format/grib/sidecar.h"
#include "backends/format/stored_chunks.h"
#include "model/attributes.h"
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
using ::testing::_;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class GribTest : public testing::Test {
 protected:
  // Opens a file of these bytes.
  void Open(const std::string& bytes, const OpenOptions& options = {}) {
    source_->Put("a.grib2", bytes);
    source_->ForgetReads();
    auto opened = GribFormat().Open(source_, "a.grib2", options);
    ASSERT_THAT(opened, IsOk());
    hierarchy_ = *std::move(opened);
  }
  model::Result<std::shared_ptr<const Hierarchy>> TryOpen(const std::string& bytes) {
    source_->Put("a.grib2", bytes);
    return GribFormat().Open(source_, "a.grib2", {});
  }

  std::shared_ptr<const Node> Load(const std::string& path) const {
    return hierarchy_->Load(path).value();
  }
  std::vector<std::string> Dims(const std::string& path) const {
    return Load(path)->array().dimension_names;
  }
  std::vector<uint64_t> Shape(const std::string& path) const {
    return Load(path)->source->spec().shape;
  }
  std::string Text(const std::string& path, std::string_view name) const {
    return model::TextOf(Load(path)->attributes(), name);
  }
  // All elements as numbers.
  std::vector<double> Numbers(const std::string& path) const {
    const auto node = Load(path);
    const std::string bytes = test::ReadWhole(*node->source).value();
    std::vector<double> numbers;
    if (node->source->spec().dtype.size() == 4) {
      std::vector<float> floats(bytes.size() / 4);
      std::memcpy(floats.data(), bytes.data(), bytes.size());
      numbers.assign(floats.begin(), floats.end());
    } else {
      numbers.resize(bytes.size() / 8);
      std::memcpy(numbers.data(), bytes.data(), bytes.size());
    }
    for (double& number : numbers) number = std::isnan(number) ? -999 : number;
    return numbers;
  }
  uint64_t bytes_read() const {
    uint64_t bytes = 0;
    for (const auto& read : source_->reads()) bytes += read.size;
    return bytes;
  }

  const std::shared_ptr<test::MemorySource> source_ = test::MemorySource::Make();
  std::shared_ptr<const Hierarchy> hierarchy_;
};

constexpr double kMissing = -999;  // as Numbers() has NaN

TEST_F(GribTest, GroupsAreTypesOfLevelsAndKindsOfSteps) {
  Open(GribMessageOf({}) + GribMessageOf({.category = 3, .number = 1, .surface = 101}) +
       GribMessageOf({.category = 1, .number = 8, .surface = 1, .hours = 0, .length = 6}));
  EXPECT_THAT(hierarchy_->List("/"),
              IsOkAnd(ElementsAre("isobaricInhPa", "meanSea", "surface")));
  EXPECT_THAT(hierarchy_->List("/surface"), IsOkAnd(ElementsAre("accum")));
  EXPECT_THAT(hierarchy_->List("/isobaricInhPa/instant"),
              IsOkAnd(ElementsAre("isobaricInhPa", "latitude", "longitude", "step", "t", "time",
                                  "valid_time")));
  EXPECT_THAT(hierarchy_->Load("/isobaricInhPa/none"), IsError(ErrorCode::kNotFound, _));
}

TEST_F(GribTest, ScalarsAreNoDimensions) {
  Open(GribMessageOf({.day = 2, .hours = 3}));
  const std::string group = "/isobaricInhPa/instant/";
  EXPECT_THAT(Dims(group + "t"), ElementsAre("latitude", "longitude"));
  EXPECT_THAT(Numbers(group + "t"), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Numbers(group + "latitude"), ElementsAre(60, 59));
  EXPECT_THAT(Numbers(group + "longitude"), ElementsAre(10, 11));
  EXPECT_THAT(Numbers(group + "isobaricInhPa"), ElementsAre(500));
  EXPECT_THAT(Numbers(group + "step"), ElementsAre(3));
  constexpr double kJanuary2 = 1735776000;
  EXPECT_THAT(Numbers(group + "time"), ElementsAre(kJanuary2));
  EXPECT_THAT(Numbers(group + "valid_time"), ElementsAre(kJanuary2 + 3 * 3600));
  EXPECT_THAT(Shape(group + "time"), ElementsAre());
  EXPECT_EQ(Text(group + "t", "coordinates"),
            "latitude longitude time step isobaricInhPa valid_time");
}

TEST_F(GribTest, AttributesAreThoseOfCfgrib) {
  Open(GribMessageOf({}));
  const std::string path = "/isobaricInhPa/instant/t";
  EXPECT_EQ(Text(path, "GRIB_shortName"), "t");
  EXPECT_EQ(Text(path, "standard_name"), "air_temperature");
  EXPECT_EQ(Text(path, "units"), "K");
  EXPECT_EQ(Text(path, "GRIB_gridType"), "regular_ll");
  EXPECT_EQ(Text(path, "GRIB_typeOfLevel"), "isobaricInhPa");
  EXPECT_EQ(Text("/isobaricInhPa/instant/isobaricInhPa", "positive"), "down");
  EXPECT_EQ(Text("/", "GRIB_centre"), "ecmf");
}

TEST_F(GribTest, EachArrayHasLevelsOfItsOwn) {
  std::string file;
  for (const uint32_t level : {50000u, 100000u, 85000u}) {
    file += GribMessageOf({.level = level, .values = {static_cast<float>(level), 0, 0, 0}});
  }
  file += GribMessageOf({.category = 2, .number = 2, .level = 85000});
  file += GribMessageOf({.category = 2, .number = 2, .level = 70000});
  file += GribMessageOf({.category = 2, .number = 3, .level = 85000});
  file += GribMessageOf({.category = 2, .number = 3, .level = 70000});
  Open(file);
  const std::string group = "/isobaricInhPa/instant/";
  EXPECT_THAT(Dims(group + "t"), ElementsAre("isobaricInhPa", "latitude", "longitude"));
  EXPECT_THAT(Dims(group + "u"), ElementsAre("isobaricInhPa_2", "latitude", "longitude"));
  EXPECT_THAT(Dims(group + "v"), ElementsAre("isobaricInhPa_2", "latitude", "longitude"));
  EXPECT_THAT(Numbers(group + "isobaricInhPa"), ElementsAre(1000, 850, 500));
  EXPECT_THAT(Numbers(group + "isobaricInhPa_2"), ElementsAre(850, 700));
  EXPECT_EQ(Load(group + "u")->array().shape[0].dimcoord, group + "isobaricInhPa_2");
  EXPECT_THAT(Numbers(group + "t"),
              ElementsAre(100000, 0, 0, 0, 85000, 0, 0, 0, 50000, 0, 0, 0));
}

TEST_F(GribTest, MissingCombinationsAreNan) {
  Open(GribMessageOf({.level = 100000, .hours = 0}) +
       GribMessageOf({.level = 50000, .hours = 6}));
  const std::string path = "/isobaricInhPa/instant/t";
  EXPECT_THAT(Dims(path), ElementsAre("step", "isobaricInhPa", "latitude", "longitude"));
  EXPECT_THAT(Numbers(path), ElementsAre(1, 2, 3, 4, kMissing, kMissing, kMissing, kMissing,
                                         kMissing, kMissing, kMissing, kMissing, 1, 2, 3, 4));
  const auto node = Load(path);
  const auto* stored = dynamic_cast<const StoredChunks*>(node->source.get());
  ASSERT_NE(stored, nullptr);
  EXPECT_THAT(stored->ListChunks(100).value().value(), ElementsAre(0, 3));
}

TEST_F(GribTest, MembersAndTimesAreDimensions) {
  std::string file;
  float value = 0;
  for (const uint8_t member : {2, 1}) {
    for (const uint8_t day : {1, 2}) {
      file +=
          GribMessageOf({.day = day, .member = member, .ni = 1, .nj = 1, .values = {value++}});
    }
  }
  Open(file);
  const std::string group = "/isobaricInhPa/instant/";
  EXPECT_THAT(Dims(group + "t"), ElementsAre("number", "time", "latitude", "longitude"));
  EXPECT_THAT(Numbers(group + "number"), ElementsAre(1, 2));
  EXPECT_THAT(Dims(group + "valid_time"), ElementsAre("time"));
  EXPECT_THAT(Numbers(group + "t"), ElementsAre(2, 3, 0, 1));
}

TEST_F(GribTest, FieldsAtOnePlaceBecomeSeveralArrays) {
  Open(GribMessageOf({.ni = 1, .nj = 1, .values = {1}}) +
       GribMessageOf({.ni = 1, .nj = 1, .values = {2}}));
  const std::string group = "/isobaricInhPa/instant/";
  EXPECT_THAT(Numbers(group + "t"), ElementsAre(1));
  EXPECT_THAT(Numbers(group + "t_2"), ElementsAre(2));
  EXPECT_THAT(Load(group + "t")->notes, ElementsAre());
  EXPECT_THAT(Load(group + "t_2")->notes, ElementsAre(HasSubstr("more than once")));
}

TEST_F(GribTest, ProcessesAreToldApartOnlyAtOnePlace) {
  Open(GribMessageOf({.level = 100000, .background = 1}) +
       GribMessageOf({.level = 50000, .background = 2}));
  EXPECT_THAT(Dims("/isobaricInhPa/instant/t"), Contains("isobaricInhPa"));
  Open(GribMessageOf({.level = 100000, .background = 1}) +
       GribMessageOf({.level = 100000, .background = 2}) +
       GribMessageOf({.level = 50000, .background = 2}));
  EXPECT_THAT(Numbers("/isobaricInhPa/instant/isobaricInhPa_2"), ElementsAre(1000, 500));
  EXPECT_THAT(Load("/isobaricInhPa/instant/t_2")->notes, ElementsAre(HasSubstr("process")));
}

TEST_F(GribTest, IntervalsOfDifferentLengthsAreArrays) {
  const GribTestField rain = {.category = 1, .number = 8, .centre = 7, .surface = 1};
  GribTestField total = rain, last = rain;
  total.length = 12;
  last.hours = 6;
  last.length = 6;
  last.values = {5, 6, 7, 8};
  Open(GribMessageOf(last) + GribMessageOf(total));
  EXPECT_THAT(Numbers("/surface/accum/tp"), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Numbers("/surface/accum/tp_6h"), ElementsAre(5, 6, 7, 8));
  EXPECT_THAT(Numbers("/surface/accum/step"), ElementsAre(12));
}

TEST_F(GribTest, LayersHaveBounds) {
  const GribTestField layer = {
      .category = 7, .number = 8, .surface = 103, .level = 3000, .second_surface = 103};
  GribTestField lower = layer;
  lower.level = 1000;
  Open(GribMessageOf(layer) + GribMessageOf(lower));
  const std::string group = "/heightAboveGroundLayer/instant/";
  EXPECT_THAT(Numbers(group + "heightAboveGroundLayer"), ElementsAre(1000, 3000));
  EXPECT_THAT(Numbers(group + "heightAboveGroundLayer_bnds"), ElementsAre(1000, 0, 3000, 0));
  EXPECT_EQ(Text(group + "heightAboveGroundLayer", "bounds"), "heightAboveGroundLayer_bnds");
}

TEST_F(GribTest, LayersWithOneTopAreToldApartByTheOtherEnd) {
  const GribTestField layer = {.category = 2,
                               .number = 16,
                               .surface = 103,
                               .level = 0,
                               .second_surface = 103,
                               .second_level = 1000};
  GribTestField higher = layer;
  higher.second_level = 6000;
  Open(GribMessageOf(layer) + GribMessageOf(higher));
  EXPECT_THAT(Numbers("/heightAboveGroundLayer/instant/heightAboveGroundLayer"),
              ElementsAre(1000, 6000));
}

TEST_F(GribTest, FieldsOfOneMessageAreArrays) {
  GribTestField u = {.category = 2, .number = 2, .ni = 1, .nj = 1, .values = {1}};
  GribTestField v = u;
  v.number = 3;
  v.values = {2};
  GribTestField other_u = u, other_v = v;
  other_u.level = other_v.level = 100000;
  other_u.values = {3};
  other_v.values = {4};
  // The second message has them in the other order.
  Open(test::GribMessageOfFields({u, v}) + test::GribMessageOfFields({other_v, other_u}));
  EXPECT_THAT(Numbers("/isobaricInhPa/instant/u"), ElementsAre(3, 1));
  EXPECT_THAT(Numbers("/isobaricInhPa/instant/v"), ElementsAre(4, 2));
}

TEST_F(GribTest, OtherGridsAreOtherArrays) {
  Open(GribMessageOf({}) + GribMessageOf({.ni = 3, .nj = 1, .values = {5, 6, 7}}));
  const std::string group = "/isobaricInhPa/instant/";
  EXPECT_THAT(Dims(group + "t_2"), ElementsAre("latitude_2", "longitude_2"));
  EXPECT_THAT(Numbers(group + "t_2"), ElementsAre(5, 6, 7));
  EXPECT_THAT(Numbers(group + "longitude_2"), ElementsAre(10, 11, 12));
}

TEST_F(GribTest, WhatIsBetweenMessagesIsSkipped) {
  const std::string bulletin = "TTXX01 EGRR 010000\r\r\n";
  const std::string false_beginning = std::string("GRIB\0\0\0\2", 8) + std::string(30, '\x7F');
  Open(bulletin + GribMessageOf({.hours = 0}) + false_beginning + GribMessageOf({.hours = 6}));
  EXPECT_THAT(Numbers("/isobaricInhPa/instant/step"), ElementsAre(0, 6));
}

TEST_F(GribTest, MessageThatIsCutIsNamed) {
  const std::string message = GribMessageOf({.hours = 6});
  Open(GribMessageOf({}) + message.substr(0, message.size() - 10));
  const auto root = Load("/");
  ASSERT_TRUE(root->error);
  EXPECT_THAT(root->error->message(), HasSubstr("the file ends after"));
  EXPECT_THAT(root->error->message(),
              HasSubstr("byte " + std::to_string(GribMessageOf({}).size())));
  EXPECT_THAT(Numbers("/isobaricInhPa/instant/t"), ElementsAre(1, 2, 3, 4));
}

TEST_F(GribTest, BrokenMessageIsNamedAndTheOthersStay) {
  std::string broken = GribMessageOf({.hours = 6});
  broken.replace(broken.size() - 4, 4, "7778");
  Open(GribMessageOf({.hours = 0}) + broken + GribMessageOf({.hours = 12}));
  EXPECT_THAT(Numbers("/isobaricInhPa/instant/step"), ElementsAre(0, 12));
  ASSERT_TRUE(Load("/")->error);
}

TEST_F(GribTest, FileWithoutAMessageFails) {
  EXPECT_THAT(TryOpen("GRIB"), IsError(ErrorCode::kCorrupt, HasSubstr("no GRIB message")));
  EXPECT_THAT(TryOpen(GribMessageOf({}).substr(0, 100)), IsError(ErrorCode::kCorrupt, _));
}

TEST_F(GribTest, ReadsHeadersAlone) {
  std::string file;
  const std::string elements(60'000, '\0');
  for (uint32_t i = 0; i < 200; ++i) {
    file += GribMessageOf({.hours = i, .ni = 125, .nj = 120, .elements = elements});
  }
  Open(file);
  EXPECT_THAT(Shape("/isobaricInhPa/instant/t"), ElementsAre(200, 120, 125));
  EXPECT_LT(bytes_read(), file.size() / 100);
  EXPECT_LT(source_->reads().size(), 300u);
}

TEST_F(GribTest, ChunkLargerThanAllowedIsAnError) {
  Open(GribMessageOf({}), {.max_chunk_size = 15});
  const auto node = Load("/isobaricInhPa/instant/t");
  ASSERT_TRUE(node->error);
  EXPECT_EQ(node->error->code(), ErrorCode::kLimit);
  EXPECT_EQ(node->source, nullptr);
}

TEST_F(GribTest, ParameterWithoutANameHasItsNumbers) {
  Open(GribMessageOf({.category = 1, .number = 250}));
  EXPECT_THAT(hierarchy_->List("/isobaricInhPa/instant"),
              IsOkAnd(Contains("parameter_0_1_250")));
}

TEST_F(GribTest, ContentTellsTheFormat) {
  const auto is_grib = [](const std::string& text) {
    return GribFormat().ProbeContent(AsBytes(text));
  };
  const std::string message = GribMessageOf({});
  EXPECT_TRUE(is_grib(message));
  EXPECT_TRUE(is_grib(std::string(600, ' ') + message));
  EXPECT_FALSE(is_grib("GRIB files are read by many programs, and this is a text about them"));
  EXPECT_FALSE(is_grib(std::string("GRIB\0\0\0\2", 8) + std::string(100, '\0')));
  EXPECT_TRUE(GribFormat().MatchesFileName("gfs.grb2"));
  EXPECT_TRUE(GribFormat().MatchesFileName("A.GRIB"));
  EXPECT_FALSE(GribFormat().MatchesFileName("a.grib2.idx"));
}

}  // namespace

namespace grib {
namespace {

TEST(GribSidecarOffsetsTest, AreReadOfBothKinds) {
  EXPECT_THAT(ReadSidecar("1:0:d=2025080100:TMP:2 m above ground:anl:\n2.1:300:d=x:UGRD:\n"
                          "2.2:300:d=x:VGRD:\nno line\n3:200")
                  .offsets,
              ElementsAre(0, 200, 300));
  EXPECT_THAT(ReadSidecar("{\"param\": \"2t\", \"_offset\": 55, \"_length\": 3}\n"
                          "{\"_offset\":7}\n{\"_offset\":\"x\"}\n")
                  .offsets,
              ElementsAre(7, 55));
  EXPECT_THAT(ReadSidecar("1:18446744073709551616:").offsets, ElementsAre());
}

TEST(GribParametersTest, ConditionsChooseTheName) {
  const auto name = [](ParameterKey key) { return FindParameter(key).variable; };
  EXPECT_EQ(name({.discipline = 0, .surface = 100}), "t");
  EXPECT_EQ(name({.discipline = 0, .surface = 103, .level = 2}), "t2m");
  EXPECT_EQ(name({.discipline = 0, .surface = 103, .level = 80}), "t");
  EXPECT_EQ(name({.category = 2, .number = 2, .surface = 103, .level = 10}), "u10");
  EXPECT_EQ(name({.centre = 7, .category = 16, .number = 196, .surface = 10}), "refc");
  EXPECT_EQ(name({.centre = 8, .category = 16, .number = 196}), "parameter_0_16_196");
  EXPECT_EQ(name({.edition = 1, .centre = 98, .discipline = 128, .number = 167}), "t2m");
  EXPECT_EQ(name({.edition = 1, .centre = 7, .discipline = 2, .number = 11}), "t");
  EXPECT_EQ(name({.edition = 1, .centre = 7, .discipline = 2, .number = 200}),
            "parameter_2_200");
}

TEST(GribLevelsTest, SurfacesHaveNames) {
  EXPECT_EQ(NameLevel(103, 255), "heightAboveGround");
  EXPECT_EQ(NameLevel(103, 103), "heightAboveGroundLayer");
  EXPECT_EQ(NameLevel(190, 255), "level_190");
  EXPECT_EQ(NameLevel(103, 1), "level_103_1");
  EXPECT_EQ(NameLevel(255, 255), "noLevel");
  EXPECT_EQ(NameEdition1Level(100), "isobaricInhPa");
}

}  // namespace
}  // namespace grib
}  // namespace ndlfs::backends
