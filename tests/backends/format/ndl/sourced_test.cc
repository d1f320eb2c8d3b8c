// SPDX-License-Identifier: MIT
//
// Documents whose data are in other files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "backends/detection.h"
#include "backends/format/ndl/ndl.h"
#include "backends/format/read_elements.h"
#include "tests/support/memory_source.h"

namespace ndlfs::backends {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A part with `values` along time, times from `first` on, and a row of two columns each.
std::string Part(int first, int count, const std::string& attributes = "units: K",
                 const std::string& lon = "[10.0, 20.0]", const std::string& type = "int32") {
  std::string times;
  std::string rows;
  for (int i = first; i < first + count; ++i) {
    const std::string comma = i == first ? "" : ", ";
    times += comma + std::to_string(i);
    rows += comma + "[" + std::to_string(10 * i) + ", " + std::to_string(10 * i + 1) + "]";
  }
  return "/:\n"
         "  dimcoords:\n"
         "    time: {size: " +
         std::to_string(count) + ", type: int32, value: [" + times +
         "], attributes: {units: days since 2000-01-01}}\n"
         "    lon: {size: 2, type: float64, value: " +
         lon +
         "}\n"
         "  ndarrays:\n"
         "    sst: {shape: [time, lon], type: " +
         type + ", value: [" + rows + "], attributes: {" + attributes + "}}\n";
}

class SourcedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    source_->Put("p/a.ndl.yaml", Part(0, 2));
    source_->Put("p/b.ndl.yaml", Part(2, 3));
    source_->Put("p/c.ndl.yaml", Part(5, 1));
  }

  model::Result<std::shared_ptr<const Hierarchy>> Open(const std::string& path) {
    return OpenDetected(NdlFormat(), source_, path, options_);
  }
  // The node of an array of the document with this entry.
  std::shared_ptr<const Node> Load(const std::string& path, const std::string& document) {
    source_->Put("all.ndl.yaml", document);
    const auto store = Open("all.ndl.yaml");
    if (!store) ADD_FAILURE() << store.error().message();
    if (!store) return nullptr;
    const auto node = (*store)->Load(path);
    if (!node) ADD_FAILURE() << node.error().message();
    return node ? *node : nullptr;
  }
  std::shared_ptr<const Node> LoadArray(const std::string& entry) {
    return Load("/sst", "/: {ndarrays: {sst: " + entry + "}}");
  }
  std::string ErrorOf(const std::string& entry) {
    const auto node = LoadArray(entry);
    if (!node) return "no node";
    EXPECT_FALSE(node->error && node->source);
    return node->error ? node->error->message() : "no error";
  }
  template <typename T>
  static std::vector<T> Values(const Node& node) {
    EXPECT_NE(node.source, nullptr) << (node.error ? node.error->message() : "");
    if (!node.source) return {};
    const auto bytes = ReadElements(*node.source, 1 << 20);
    EXPECT_TRUE(bytes) << bytes.error().message();
    if (!bytes) return {};
    std::vector<T> values(bytes->size() / sizeof(T));
    std::memcpy(values.data(), bytes->data(), bytes->size());
    return values;
  }

  std::shared_ptr<test::MemorySource> source_ = test::MemorySource::Make();
  OpenOptions options_;
};

const char kJoin[] = "{x-source: {join: \"p/*.ndl.yaml\", along: time}}";

TEST_F(SourcedTest, PartsOfDifferentSizesFollowEachOtherByName) {
  const auto node = LoadArray(kJoin);
  EXPECT_THAT(Values<int32_t>(*node),
              ElementsAre(0, 1, 10, 11, 20, 21, 30, 31, 40, 41, 50, 51));
  EXPECT_EQ(node->source->spec().shape, (std::vector<uint64_t>{6, 2}));
  EXPECT_THAT(node->array().dimension_names, ElementsAre("time", "lon"));
  ASSERT_EQ(node->attributes().size(), 1u);
  EXPECT_FALSE(node->array().source);
}

TEST_F(SourcedTest, AListIsInItsOrder) {
  const auto node = LoadArray("{x-source: {join: [p/c.ndl.yaml, p/a.ndl.yaml], along: time}}");
  EXPECT_THAT(Values<int32_t>(*node), ElementsAre(50, 51, 0, 1, 10, 11));
}

TEST_F(SourcedTest, NullSizesAreComputed) {
  const auto node = Load("/time",
                         "/: {dimcoords: {time: {size: null, type: int32, x-source: {join: "
                         "\"p/*.ndl.yaml\", along: 0}}}}");
  EXPECT_THAT(Values<int32_t>(*node), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(node->array().storage.size, 6u);
}

TEST_F(SourcedTest, AGroupJoinsArraysWithTheDimensionAndTakesTheOthersFromTheFirst) {
  const std::string document = "/: {x-source: {join: \"p/*.ndl.yaml\", along: time}}";
  EXPECT_THAT(Values<int32_t>(*Load("/sst", document)),
              ElementsAre(0, 1, 10, 11, 20, 21, 30, 31, 40, 41, 50, 51));
  EXPECT_THAT(Values<double>(*Load("/lon", document)), ElementsAre(10, 20));
  const auto store = Open("all.ndl.yaml");
  EXPECT_THAT((*store)->List("/").value(), ElementsAre("lon", "sst", "time"));
  const auto node = (*store)->Load("/sst").value();
  EXPECT_EQ(node->array().shape[0], (model::Dimension{6, "/time"}));
  EXPECT_EQ((*store)->Load("/none").error().code(), model::ErrorCode::kNotFound);
}

TEST_F(SourcedTest, AnArrayWithoutValuesInAGroupAddsItsAttributes) {
  const std::string source =
      "/:\n  x-source: {join: \"p/*.ndl.yaml\", along: time}\n  ndarrays: ";
  const std::string array =
      "{sst: {shape: [null, 2], type: int32, attributes: {units: degC, n: 1}}}\n";
  const auto node = Load("/sst", source + array);
  EXPECT_EQ(node->source->spec().shape, (std::vector<uint64_t>{6, 2}));
  EXPECT_EQ(*node->attributes()[0].value.text(), "degC");
  EXPECT_EQ(node->attributes().size(), 2u);
  EXPECT_THAT(Load("/sst", source + "{sst: {shape: [5, 2], type: int32}}\n")->error->message(),
              HasSubstr("the document has 5 along dimension 0, the data have 6"));
  EXPECT_THAT(Load("/sst", source + "{sst: {shape: [6, 2], type: int8}}\n")->error->message(),
              HasSubstr("the document has the type int8, the data have int32"));
  EXPECT_EQ(Load("/other", source + "{other: {shape: [1], type: int8}}\n")->source, nullptr);
}

TEST_F(SourcedTest, TwoStarsAreAnyNumberOfFolders) {
  source_->Put("p/x/y/0.ndl.yaml", Part(9, 1));
  EXPECT_THAT(Values<int32_t>(*Load("/time",
                                    "/: {dimcoords: {time: {size: null, type: int32, x-source: "
                                    "{join: \"p/**/*.ndl.yaml\", along: 0}}}}")),
              ElementsAre(0, 1, 2, 3, 4, 5, 9));
}

TEST_F(SourcedTest, AGroupInAGroupHasItsOwnNames) {
  const std::string document =
      "/: {attributes: {title: x}}\n"
      "/sea: {x-source: {join: \"p/*.ndl.yaml\", along: time}}\n";
  EXPECT_EQ(Load("/sea/sst", document)->array().shape[0], (model::Dimension{6, "/sea/time"}));
  EXPECT_THAT((*Open("all.ndl.yaml"))->List("/sea").value(), ElementsAre("lon", "sst", "time"));
}

TEST_F(SourcedTest, AnArrayOfAnotherStoreHasANewNameAndMoreAttributes) {
  const auto node = LoadArray(
      "{attributes: {units: degC, source: b}, x-source: {store: p/b.ndl.yaml, path: /sst}}");
  EXPECT_THAT(Values<int32_t>(*node), ElementsAre(20, 21, 30, 31, 40, 41));
  EXPECT_EQ(*node->attributes()[0].value.text(), "degC");
  EXPECT_EQ(node->attributes().size(), 2u);
}

TEST_F(SourcedTest, PartsWithoutTheDimensionGetIt) {
  const auto node =
      LoadArray("{x-source: {join: [p/a.ndl.yaml, p/a.ndl.yaml, p/a.ndl.yaml], along: run}}");
  EXPECT_EQ(node->source->spec().shape, (std::vector<uint64_t>{3, 2, 2}));
  EXPECT_THAT(node->array().dimension_names, ElementsAre("run", "time", "lon"));
  EXPECT_THAT(Values<int32_t>(*node), ElementsAre(0, 1, 10, 11, 0, 1, 10, 11, 0, 1, 10, 11));
}

TEST_F(SourcedTest, WithGivenSizesOnlyTheFirstPartIsOpened) {
  source_->ForgetReads();
  const auto node =
      LoadArray("{x-source: {join: \"p/*.ndl.yaml\", along: time, sizes: [2, 3, 1]}}");
  for (const auto& read : source_->reads())
    EXPECT_THAT(read.path, testing::AnyOf("p/a.ndl.yaml", "all.ndl.yaml"));
  EXPECT_EQ(node->source->spec().shape[0], 6u);
  source_->ForgetReads();
  EXPECT_TRUE(node->source->joined()->OpenPart(2));
  for (const auto& read : source_->reads()) EXPECT_NE(read.path, "p/b.ndl.yaml");
}

TEST_F(SourcedTest, AGivenSizeThatIsWrongIsAnErrorOfItsPart) {
  const auto node =
      LoadArray("{x-source: {join: \"p/*.ndl.yaml\", along: time, sizes: [2, 4, 1]}}");
  EXPECT_TRUE(node->source->joined()->OpenPart(0));
  EXPECT_THAT(node->source->joined()->OpenPart(1).error().message(),
              HasSubstr("p/b.ndl.yaml: /sst has 3 along dimension 0, expected 4"));
}

struct Difference {
  const char* name;
  std::string part;
  const char* words;
};
class DifferenceTest : public SourcedTest, public ::testing::WithParamInterface<Difference> {};

TEST_P(DifferenceTest, IsSaidWithBothParts) {
  source_->Put("p/b.ndl.yaml", GetParam().part);
  const std::string error = ErrorOf(kJoin);
  EXPECT_THAT(error, AllOf(HasSubstr("p/a.ndl.yaml"), HasSubstr("p/b.ndl.yaml"),
                           HasSubstr(GetParam().words)));
}

INSTANTIATE_TEST_SUITE_P(
    All, DifferenceTest,
    ::testing::Values(
        Difference{"Units", Part(2, 3, "units: degC"), "units is degC"},
        Difference{"NoUnits", Part(2, 3, "x: 1"), "units is absent"},
        Difference{"ScaleFactor", Part(2, 3, "units: K, scale_factor: 0.5"),
                   "scale_factor is 0.5"},
        Difference{"AddOffset", Part(2, 3, "units: K, add_offset: 1.5"), "add_offset is 1.5"},
        Difference{"FillValue", Part(2, 3, "units: K, _FillValue: -1"), "the fill value is -1"},
        Difference{"Calendar", Part(2, 3, "units: K, calendar: noleap"), "calendar is noleap"},
        Difference{"Type", Part(2, 3, "units: K", "[10.0, 20.0]", "int64"),
                   "the type is int64"},
        Difference{"Coordinates", Part(2, 3, "units: K", "[10.0, 20.5]"), "lon[1] is 20.5"}),
    [](const auto& info) { return info.param.name; });

TEST_F(SourcedTest, OnlyFillValuesThatBothPartsTellDiffer) {
  const auto with_fill = [](const std::string& value) {
    return "/: {ndarrays: {x: {shape: [1], x-dims: [time], type: int8, value: [1], storage: "
           "{fillvalue: " +
           value + "}}}}";
  };
  const std::string entry = "{x-source: {join: [x.ndl.yaml, y.ndl.yaml], path: /x, along: 0}}";
  source_->Put("x.ndl.yaml", with_fill("9"));
  source_->Put("y.ndl.yaml", with_fill("8"));
  EXPECT_THAT(ErrorOf(entry), HasSubstr("the fill value is 8 in y.ndl.yaml"));
  source_->Put("y.ndl.yaml",
               "/: {ndarrays: {x: {shape: [1], x-dims: [time], type: int8, value: [2]}}}");
  EXPECT_THAT(Values<int8_t>(*LoadArray(entry)), ElementsAre(1, 2));
}

TEST_F(SourcedTest, FillValueThatOnePartDoesNotTellIsNoDifference) {
  const auto part = [](const std::string& attributes, const std::string& values) {
    return "/: {ndarrays: {x: {shape: [2], x-dims: [time], type: float32, value: [" + values +
           "], attributes: {" + attributes + "}}}}";
  };
  const std::string entry = "{x-source: {join: [x.ndl.yaml, y.ndl.yaml], path: /x, along: 0}}";
  const auto values = [&] { return Values<float>(*LoadArray(entry)); };
  source_->Put("x.ndl.yaml", part("_FillValue: -9.0", "1.0, -9.0"));
  source_->Put("y.ndl.yaml", part("units: \"1\"", "2.0, 3.0"));
  EXPECT_THAT(ErrorOf(entry), HasSubstr("units is"));
  source_->Put("y.ndl.yaml", part("a: 1", "2.0, 3.0"));
  EXPECT_THAT(values(), ElementsAre(1, -9, 2, 3));
  source_->Put("x.ndl.yaml", part("a: 1", "1.0, -9.0"));
  source_->Put("y.ndl.yaml", part("_FillValue: 3.0", "2.0, 3.0"));
  EXPECT_THAT(values(), ElementsAre(1, -9, 2, ::testing::IsNan()))
      << "the join has no attribute that calls 3 missing";
  source_->Put("x.ndl.yaml", part("_FillValue: 1.0", "1.0, -9.0"));
  EXPECT_THAT(ErrorOf(entry), HasSubstr("_FillValue is 3.0"));
}

TEST_F(SourcedTest, CoordinatesMayDifferByTheTolerance) {
  source_->Put("p/b.ndl.yaml", Part(2, 3, "units: K", "[10.0, 20.25]"));
  EXPECT_EQ(ErrorOf("{x-source: {join: \"p/*.ndl.yaml\", along: time, tolerance: 0.25}}"),
            "no error");
  EXPECT_THAT(ErrorOf("{x-source: {join: \"p/*.ndl.yaml\", along: time, tolerance: 0.2}}"),
              HasSubstr("tolerance: 0.2"));
}

TEST_F(SourcedTest, APartOfAnotherWidthIsSaid) {
  source_->Put("p/b.ndl.yaml",
               "/: {dimcoords: {time: {size: 1, type: int32, value: [2]}, lon: {size: 3, type: "
               "float64, value: [1.0, 2.0, 3.0]}}, ndarrays: {sst: {shape: [time, lon], type: "
               "int32, value: [[1, 2, 3]]}}}");
  EXPECT_THAT(ErrorOf(kJoin), HasSubstr("the size of \"lon\" is 3"));
}

TEST_F(SourcedTest, APartWithoutTheArrayIsSaid) {
  source_->Put("p/b.ndl.yaml", "/: {attributes: {a: 1}}");
  EXPECT_THAT(ErrorOf(kJoin), AllOf(HasSubstr("p/b.ndl.yaml"), HasSubstr("sst")));
}

TEST_F(SourcedTest, AMissingPartIsAnErrorUnlessItIsFilled) {
  const std::string numbers = "join: {files: \"p/%d.ndl.yaml\", from: 1, to: 3}, along: time";
  source_->Put("p/1.ndl.yaml", Part(0, 1));
  source_->Put("p/3.ndl.yaml", Part(2, 1));
  EXPECT_THAT(ErrorOf("{x-source: {" + numbers + "}}"),
              HasSubstr("part 2 of 3 is missing: p/2.ndl.yaml"));
  EXPECT_THAT(ErrorOf("{x-source: {" + numbers + ", missing: fill}}"),
              HasSubstr("nobody knows its size"));
  const auto node = LoadArray("{x-source: {" + numbers + ", missing: fill, sizes: 1}}");
  EXPECT_THAT(Values<int32_t>(*node), ElementsAre(0, 1, 0, 0, 20, 21));
}

TEST_F(SourcedTest, TheDocumentHasToAgreeWithTheParts) {
  EXPECT_THAT(
      ErrorOf("{shape: [7, 2], type: int32, x-source: {join: \"p/*.ndl.yaml\", along: 0}}"),
      HasSubstr("the document has 7 along dimension 0, the parts have 6"));
  EXPECT_THAT(
      ErrorOf("{shape: [6, 2], type: int16, x-source: {join: \"p/*.ndl.yaml\", along: 0}}"),
      HasSubstr("the document has the type int16"));
  EXPECT_THAT(ErrorOf("{x-source: {join: \"p/*.ndl.yaml\", along: 2}}"),
              HasSubstr("there is no dimension 2"));
  EXPECT_THAT(
      ErrorOf("{shape: [4, 2], type: int32, x-source: {store: p/b.ndl.yaml, path: /sst}}"),
      HasSubstr("the document has 4 along dimension 0, the data have 3"));
}

TEST_F(SourcedTest, FlatFilesAreArrays) {
  source_->Put("topo.bin", std::string("hh\0\1\0\2\0\3", 8));
  const auto node = LoadArray(
      "{shape: [null], type: int16, storage: {endian: big}, x-source: {file: topo.bin, offset: "
      "2}}");
  EXPECT_THAT(Values<int16_t>(*node), ElementsAre(1, 2, 3));
  EXPECT_THAT(ErrorOf("{shape: [4], type: int16, x-source: {file: topo.bin, offset: 2}}"),
              HasSubstr("topo.bin: 6 bytes of data, the shape needs 8"));
  EXPECT_THAT(ErrorOf("{shape: [4], type: int16, x-source: {file: none.bin}}"),
              HasSubstr("none.bin: no such file"));
}

TEST_F(SourcedTest, FlatFilesAreJoinedAFileAStep) {
  source_->Put("s1.dat", std::string("\1\2", 2));
  source_->Put("s2.dat", std::string("\3\4", 2));
  const std::string join = "x-source: {join: {files: s%d.dat, from: 1, to: 2}, offset: 0}";
  EXPECT_THAT(Values<int8_t>(*LoadArray("{shape: [2, 2], type: int8, " + join + "}")),
              ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Values<int8_t>(*LoadArray("{shape: [null], type: int8, " + join + "}")),
              ElementsAre(1, 2, 3, 4));
  source_->Put("s2.dat", std::string("\3\4\5", 3));
  const auto node = LoadArray("{shape: [2, 2], type: int8, " + join + "}");
  EXPECT_THAT(node->source->joined()->OpenPart(1).error().message(),
              HasSubstr("1 bytes follow the data, expected 0"));
}

TEST_F(SourcedTest, PathsStayInsideTheSource) {
  EXPECT_THAT(ErrorOf("{x-source: {store: ../a.nc}}"), HasSubstr("leads out of the source"));
  EXPECT_THAT(ErrorOf("{shape: [], type: int8, x-source: {file: p/../../a}}"),
              HasSubstr("leads out of the source"));
  EXPECT_THAT(ErrorOf("{x-source: {join: \"../*.nc\", along: 0}}"),
              HasSubstr("leads out of the source"));
  EXPECT_THAT(ErrorOf("{x-source: {join: \"p/*/../../../x\", along: 0}}"), HasSubstr("\"..\""));
}

TEST_F(SourcedTest, AGlobWithoutFilesIsAnError) {
  EXPECT_THAT(ErrorOf("{x-source: {join: \"q/*.nc\", along: 0}}"),
              HasSubstr("no file fits \"q/*.nc\""));
}

TEST_F(SourcedTest, DocumentsInACircleAreAnError) {
  EXPECT_THAT(ErrorOf("{x-source: {store: all.ndl.yaml}}"), HasSubstr("in a circle"));
  source_->Put("other.ndl.yaml", "/: {ndarrays: {sst: {x-source: {store: all.ndl.yaml}}}}");
  EXPECT_THAT(ErrorOf("{x-source: {store: other.ndl.yaml}}"), HasSubstr("in a circle"));
}

TEST_F(SourcedTest, DocumentsOfDocumentsEndSomewhere) {
  source_->Put("d0.ndl.yaml", Part(0, 1));
  for (int i = 1; i < 12; ++i) {
    const std::string before = "d" + std::to_string(i - 1) + ".ndl.yaml";
    source_->Put("d" + std::to_string(i) + ".ndl.yaml",
                 "/: {ndarrays: {sst: {x-source: {store: " + before + "}}}}");
  }
  EXPECT_EQ(ErrorOf("{x-source: {store: d5.ndl.yaml}}"), "no error");
  EXPECT_THAT(ErrorOf("{x-source: {store: d11.ndl.yaml}}"),
              HasSubstr("documents refer to each other"));
}

// Each of ten documents is the union of all ten of the next layer.
TEST_F(SourcedTest, UnionsOfUnionsAreRefusedBeforeTheyTakeForEver) {
  for (int layer = 0; layer < 7; ++layer) {
    std::string names;
    for (int i = 0; i < 10; ++i) {
      names += "u" + std::to_string(layer + 1) + "_" + std::to_string(i) + ".ndl.yaml, ";
    }
    for (int i = 0; i < 10; ++i) {
      source_->Put("u" + std::to_string(layer) + "_" + std::to_string(i) + ".ndl.yaml",
                   "/: {x-source: {union: [" + names + "]}}");
    }
  }
  const std::string document = "/: {x-source: {union: [u0_0.ndl.yaml]}}";
  const auto root = Load("/", document);
  ASSERT_TRUE(root->error);
  EXPECT_THAT(root->error->message(), HasSubstr("documents refer to more than 2000 others"));
}

TEST_F(SourcedTest, AUnionReadsAStoreThatItNamesTenTimesOnce) {
  source_->Put("v0.ndl.yaml", "/: {ndarrays: {v: {shape: [1], type: int8, value: [5]}}}");
  for (int i = 1; i < 7; ++i) {
    std::string names;
    for (int k = 0; k < 10; ++k) names += "v" + std::to_string(i - 1) + ".ndl.yaml, ";
    source_->Put("v" + std::to_string(i) + ".ndl.yaml",
                 "/: {x-source: {union: [" + names + "]}}");
  }
  const std::string document = "/: {x-source: {union: [v6.ndl.yaml, v6.ndl.yaml]}}";
  EXPECT_THAT(Values<int8_t>(*Load("/v", document)), ElementsAre(5));
}

TEST_F(SourcedTest, AUnionHasTheObjectsOfAllStores) {
  source_->Put("u.ndl.yaml", "/: {ndarrays: {mask: {shape: [2], type: int8, value: [1, 0]}}}");
  const std::string document = "/: {x-source: {union: [p/a.ndl.yaml, u.ndl.yaml]}}";
  EXPECT_THAT(Values<int8_t>(*Load("/mask", document)), ElementsAre(1, 0));
  EXPECT_THAT((*Open("all.ndl.yaml"))->List("/").value(),
              ElementsAre("lon", "mask", "sst", "time"));
  source_->Put("u.ndl.yaml",
               "/: {dimcoords: {lon: {size: 2, type: float64, value: [1.0, 2.0]}}}");
  EXPECT_THAT(Load("/lon", document)->error->message(),
              HasSubstr("two stores of the union differ"));
}

TEST_F(SourcedTest, ArraysThatAreNotJoinedHaveToBeTheSame) {
  source_->Put("p/b.ndl.yaml", Part(2, 3, "units: K", "[10.0, 21.0]"));
  const std::string document = "/: {x-source: {join: \"p/*.ndl.yaml\", along: time}}";
  EXPECT_THAT(Load("/lon", document)->error->message(),
              AllOf(HasSubstr("p/a.ndl.yaml"), HasSubstr("p/b.ndl.yaml"), HasSubstr("21.0")));
}

TEST_F(SourcedTest, AChangeOfAPartChangesTheVersion) {
  LoadArray(kJoin);
  const auto store = Open("all.ndl.yaml");
  const uint64_t before = (*store)->Version("/sst").value();
  EXPECT_EQ((*store)->Version("/sst").value(), before);
  source_->Put("p/b.ndl.yaml", Part(2, 2));
  EXPECT_NE((*store)->Version("/sst").value(), before);
  EXPECT_EQ((*store)->Load("/sst").value()->source->spec().shape[0], 5u);
  const uint64_t changed = (*store)->Version("/sst").value();
  source_->Put("p/d.ndl.yaml", Part(5, 1));
  EXPECT_NE((*store)->Version("/sst").value(), changed);
  EXPECT_EQ((*store)->Load("/sst").value()->source->spec().shape[0], 6u);
}

TEST_F(SourcedTest, OfVeryManyPartsASampleIsLookedAtForChanges) {
  std::string names;
  for (int i = 0; i < 1500; ++i) {
    const std::string name = "m/" + std::to_string(i) + ".ndl.yaml";
    source_->Put(name, Part(i, 1));
    names += (i == 0 ? "" : ", ") + name;
  }
  LoadArray("{x-source: {join: [" + names + "], along: 0, path: /sst, sizes: 1}}");
  const auto store = Open("all.ndl.yaml");
  const uint64_t before = (*store)->Version("/sst").value();
  source_->ForgetReads();
  EXPECT_EQ((*store)->Version("/sst").value(), before);
  EXPECT_LT(source_->looks().size(), 150u);
  EXPECT_THAT(source_->reads(), IsEmpty());
  source_->Remove("m/0.ndl.yaml");
  EXPECT_NE((*store)->Version("/sst").value(), before);
  EXPECT_THAT((*store)->Load("/sst").value()->error->message(),
              HasSubstr("part 1 of 1500 is missing: m/0.ndl.yaml"));
}

TEST_F(SourcedTest, UnpackingMakesDifferentPackingsOneFloat) {
  source_->Put("p/a.ndl.yaml", Part(0, 1, "units: K, scale_factor: 0.5, _FillValue: 1"));
  source_->Put("p/b.ndl.yaml",
               Part(1, 1, "units: K, add_offset: 100.0", "[10.0, 20.0]", "int16"));
  source_->Put("p/c.ndl.yaml", Part(2, 1, "units: K", "[10.0, 20.0]", "float32"));
  const auto node =
      LoadArray("{x-source: {join: \"p/*.ndl.yaml\", along: time, unpack: true}}");
  EXPECT_EQ(node->array().type, model::Datatype::Float64());
  ASSERT_EQ(node->attributes().size(), 2u);
  EXPECT_EQ(node->attributes()[1].name, "_FillValue");
  EXPECT_EQ(node->attributes()[0].name, "units");
  EXPECT_THAT(Values<double>(*node), ElementsAre(0, testing::IsNan(), 110, 111, 20, 21));
  const auto single = LoadArray(
      "{shape: [3, 2], type: float32, x-source: {join: \"p/*.ndl.yaml\", along: time, unpack: "
      "true}}");
  EXPECT_THAT(Values<float>(*single), ElementsAre(0, testing::IsNan(), 110, 111, 20, 21));
}

TEST_F(SourcedTest, UnpackingDoesNotConvertOtherUnits) {
  source_->Put("p/b.ndl.yaml", Part(2, 3, "units: degC"));
  EXPECT_THAT(ErrorOf("{x-source: {join: \"p/*.ndl.yaml\", along: time, unpack: true}}"),
              HasSubstr("units is degC"));
}

TEST_F(SourcedTest, UnpackingMakesTimesOfTheUnitsOfTheFirst) {
  const auto time = [](const char* units, const char* value, const char* more = "") {
    return std::string("/: {dimcoords: {time: {size: 1, type: int32, value: [") + value +
           "], attributes: {units: '" + units + "'" + more + "}}}}";
  };
  source_->Put("t/1.ndl.yaml", time("days since 2000-01-01", "3"));
  source_->Put("t/2.ndl.yaml", time("hours since 2000-02-01", "36"));
  const std::string join = "x-source: {join: \"t/*.ndl.yaml\", along: time, unpack: true}";
  const auto load = [&](const std::string& entry) {
    return Load("/time", "/: {dimcoords: {time: {" + entry + "}}}");
  };
  EXPECT_THAT(Values<double>(*load(join)), ElementsAre(3, 32.5));
  const auto hours =
      load("size: null, type: int32, attributes: {units: hours since 2000-01-01}, " + join);
  EXPECT_THAT(Values<int32_t>(*hours), ElementsAre(72, 780));
  EXPECT_THAT(
      ReadElements(*load("size: null, type: int32, " + join)->source, 100).error().message(),
      HasSubstr("no whole number"));
  source_->Put("t/2.ndl.yaml", time("days since 2000-02-01", "1", ", calendar: noleap"));
  EXPECT_THAT(load(join)->error->message(), HasSubstr("calendar is noleap"));
  EXPECT_THAT(load("x-source: {join: \"t/*.ndl.yaml\", along: time}")->error->message(),
              HasSubstr("units is days since 2000-02-01"));
}

TEST_F(SourcedTest, AMountForSeveralUsersDoesNotShowDataOfOtherFiles) {
  options_.shared = true;
  EXPECT_THAT(ErrorOf(kJoin), HasSubstr("a mount for several users does not show them"));
}

TEST_F(SourcedTest, ADocumentWithASourceIsAStoreWhateverItsNameIs) {
  source_->Put("all.yaml", "/: {x-source: {join: \"p/*.ndl.yaml\", along: time}}");
  EXPECT_EQ(DetectStore(*source_, "all.yaml").value(), &NdlFormat());
  source_->Put("other.yaml", "/: {attributes: {a: 1}}");
  EXPECT_EQ(DetectStore(*source_, "other.yaml").value(), nullptr);
}

}  // namespace
}  // namespace ndlfs::backends
