// SPDX-License-Identifier: MIT
#include "backends/format/ncml/ncml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <variant>
#include <vector>

#include "backends/detection.h"
#include "backends/format/ncml/ncml_reader.h"
#include "backends/format/read_elements.h"
#include "model/attributes.h"
#include "tests/support/detect_file.h"
#include "tests/support/memory_source.h"

namespace ndlfs::backends {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Document(const std::string& contents, const std::string& attributes = "") {
  return "<?xml version=\"1.0\"?>\n<!-- a comment -->\n<netcdf "
         "xmlns=\"http://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2\"" +
         attributes + ">\n" + contents + "</netcdf>\n";
}

// `first` and the next day, and two columns.
std::string Part(int first, const std::string& units = "days since 2000-01-01") {
  const auto number = [&](int value) { return std::to_string(value); };
  return "/:\n  attributes: {title: part}\n  dimcoords:\n    time: {size: 2, type: int32, "
         "value: "
         "[" +
         number(first) + ", " + number(first + 1) + "], attributes: {units: " + units +
         "}}\n    lon: {size: 2, type: float64, value: [10.0, 20.0]}\n  ndarrays:\n    sst: "
         "{shape: [time, lon], type: int32, attributes: {units: K}, value: [[" +
         number(10 * first) + ", 1], [2, 3]]}\n    level: {shape: [lon], type: int8, value: [" +
         number(first) + ", 7]}\n";
}

class NcmlTest : public ::testing::Test {
 protected:
  void SetUp() override {
    source_->Put("days/a.ndl.yaml", Part(0));
    source_->Put("days/b.ndl.yaml", Part(2));
    source_->Put("days/more/c.ndl.yaml", Part(4));
  }

  model::Result<std::shared_ptr<const Hierarchy>> Open(const std::string& document) {
    source_->Put("all.ncml", document);
    return OpenDetected(NcmlFormat(), source_, "all.ncml", {});
  }
  std::shared_ptr<const Node> Load(const std::string& document, const std::string& path) {
    const auto store = Open(document);
    if (!store) ADD_FAILURE() << store.error().message();
    if (!store) return std::make_shared<const Node>();
    auto node = (*store)->Load(path);
    if (!node) ADD_FAILURE() << node.error().message();
    return node ? *node : std::make_shared<const Node>();
  }
  template <typename T>
  static std::vector<T> Values(const Node& node) {
    EXPECT_NE(node.source, nullptr) << (node.error ? node.error->message() : "");
    if (!node.source) return {};
    const auto bytes = ReadElements(*node.source, 1 << 20);
    if (!bytes) ADD_FAILURE() << bytes.error().message();
    std::vector<T> values(bytes ? bytes->size() / sizeof(T) : 0);
    if (bytes) std::memcpy(values.data(), bytes->data(), bytes->size());
    return values;
  }
  static std::string TextOf(const Node& node, std::string_view attribute) {
    return model::TextOf(node.attributes(), attribute);
  }

  std::shared_ptr<test::MemorySource> source_ = test::MemorySource::Make();
};

const char kTwo[] =
    "<netcdf location=\"days/a.ndl.yaml\"/><netcdf location=\"days/b.ndl.yaml\"/>";

std::string Existing(const std::string& parts, const std::string& attributes = "") {
  return "<aggregation type=\"joinExisting\" dimName=\"time\"" + attributes + ">" + parts +
         "</aggregation>";
}
std::string New(const std::string& parts) {
  return "<aggregation type=\"joinNew\" dimName=\"run\"><variableAgg name=\"level\"/>" + parts +
         "</aggregation>";
}

TEST_F(NcmlTest, JoinExistingJoinsTheArraysWithTheDimension) {
  const std::string document = Document(Existing(kTwo));
  EXPECT_THAT(Values<int32_t>(*Load(document, "/sst")), ElementsAre(0, 1, 2, 3, 20, 1, 2, 3));
  EXPECT_THAT(Values<int32_t>(*Load(document, "/time")), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(Values<double>(*Load(document, "/lon")), ElementsAre(10, 20));
  EXPECT_EQ(TextOf(*Load(document, "/"), "title"), "part");
  EXPECT_EQ((*Open(document))->format(), "NcML");
}

TEST_F(NcmlTest, SizesThatAreGivenSpareOpeningTheParts) {
  const std::string document =
      Document(Existing("<netcdf location=\"days/a.ndl.yaml\" ncoords=\"2\"/><netcdf "
                        "location=\"days/none.yaml\" ncoords=\"3\"/>"));
  EXPECT_THAT(Load(document, "/")->error->message(), HasSubstr("days/none.yaml"));
  source_->Put("days/none.yaml", "no store");
  EXPECT_EQ(Load(document, "/sst")->source->spec().shape, (std::vector<uint64_t>{5, 2}));
}

TEST_F(NcmlTest, ScansAreSortedByName) {
  const std::string scan = "<scan location=\"days\" suffix=\".ndl.yaml\" subdirs=\"";
  EXPECT_THAT(Values<int32_t>(*Load(Document(Existing(scan + "false\"/>")), "/time")),
              ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(Values<int32_t>(*Load(Document(Existing(scan + "true\"/>")), "/time")),
              ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST_F(NcmlTest, JoinNewMakesADimensionWithItsCoordinates) {
  source_->Put("days/b.ndl.yaml", Part(0));
  const std::string document =
      Document(New("<netcdf location=\"days/a.ndl.yaml\" coordValue=\"3\"/><netcdf "
                   "location=\"days/b.ndl.yaml\" coordValue=\"5.5\"/>"));
  const auto level = Load(document, "/level");
  EXPECT_THAT(Values<int8_t>(*level), ElementsAre(0, 7, 0, 7));
  EXPECT_EQ(level->array().shape[0], (model::Dimension{2, "/run"}));
  EXPECT_THAT(Values<double>(*Load(document, "/run")), ElementsAre(3, 5.5));
  EXPECT_THAT(Values<int32_t>(*Load(document, "/sst")), ElementsAre(0, 1, 2, 3));
}

TEST_F(NcmlTest, CoordinatesMayBeTextsOrTheValuesOfAVariable) {
  source_->Put("days/b.ndl.yaml", Part(0));
  const auto texts =
      Load(Document(New("<netcdf location=\"days/a.ndl.yaml\" coordValue=\"3\"/><netcdf "
                        "location=\"days/b.ndl.yaml\" coordValue=\"b\"/>")),
           "/run");
  EXPECT_EQ(*texts->array().value->list()->at(1).text(), "b");
  const auto values = Load(
      Document("<dimension name=\"run\" length=\"2\"/><variable name=\"run\" type=\"short\" "
               "shape=\"run\"><attribute name=\"units\" value=\"1\"/><values start=\"5\" "
               "increment=\"-2\"/></variable>" +
               New(kTwo)),
      "/run");
  EXPECT_THAT(Values<int16_t>(*values), ElementsAre(5, 3));
  EXPECT_EQ(TextOf(*values, "units"), "1");
}

TEST_F(NcmlTest, AUnionHasTheVariablesOfAllStores) {
  source_->Put("days/other.ndl.yaml",
               "/: {ndarrays: {x: {shape: [1], type: int8, value: [9]}}}");
  const std::string document = Document(
      "<aggregation type=\"union\"><netcdf location=\"days/a.ndl.yaml\"/><netcdf "
      "location=\"days/other.ndl.yaml\"/></aggregation>");
  EXPECT_THAT(Values<int8_t>(*Load(document, "/x")), ElementsAre(9));
  EXPECT_THAT(Values<int32_t>(*Load(document, "/sst")), ElementsAre(0, 1, 2, 3));
}

TEST_F(NcmlTest, AttributesAreAddedToTheStoreThatALocationNames) {
  const std::string document = Document(
      "<attribute name=\"title\" value=\"mine\"/><attribute name=\"n\" type=\"float\" "
      "value=\"1.5 "
      "2\"/><attribute name=\"words\" value=\"a,b\" separator=\",\"/><variable name=\"sst\" "
      "type=\"int\"><attribute name=\"units\">degC</attribute></variable>",
      " location=\"file:days/a.ndl.yaml\"");
  const auto root = Load(document, "/");
  EXPECT_EQ(TextOf(*root, "title"), "mine");
  EXPECT_THAT(model::NumbersOf(root->attributes(), "n"), ElementsAre(1.5, 2));
  EXPECT_EQ(model::FindAttribute(root->attributes(), "words")->shape[0], 2u);
  EXPECT_EQ(TextOf(*Load(document, "/sst"), "units"), "degC");
  EXPECT_THAT(Values<int32_t>(*Load(document, "/sst")), ElementsAre(0, 1, 2, 3));
}

TEST_F(NcmlTest, ATypeThatTheDataDoNotHaveIsAnErrorOfTheVariable) {
  const auto node = Load(
      Document("<variable name=\"sst\" type=\"double\"/>", " location=\"days/a.ndl.yaml\""),
      "/sst");
  EXPECT_EQ(node->source, nullptr);
  EXPECT_EQ(node->error->message(), "the document has the type float64, the data have int32");
}

TEST_F(NcmlTest, TimesWithDifferentUnitsAreConvertedWhereTheDocumentSaysSo) {
  source_->Put("days/b.ndl.yaml", Part(0, "days since 2000-01-03"));
  EXPECT_THAT(Load(Document(Existing(kTwo)), "/time")->error->message(), HasSubstr("units"));
  const auto time =
      Load(Document("<variable name=\"time\"><attribute name=\"long_name\" value=\"t\"/>"
                    "</variable>" +
                    Existing(kTwo, " timeUnitsChange=\"true\"")),
           "/time");
  EXPECT_THAT(Values<double>(*time), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(TextOf(*time, "long_name"), "t");
}

TEST_F(NcmlTest, ValuesOfAVariableOfTheFilesTakeItsTypeAndShape) {
  const auto time =
      Load(Document("<variable name=\"time\"><values>0 31 59 90</values></variable>" +
                    Existing(kTwo)),
           "/time");
  EXPECT_THAT(Values<int32_t>(*time), ElementsAre(0, 31, 59, 90));
  EXPECT_EQ(TextOf(*time, "units"), "days since 2000-01-01");
  EXPECT_TRUE(std::holds_alternative<model::DimCoord>(time->entity));
  const auto sst = Load(Document("<variable name=\"sst\"><values>1 2 3 4</values></variable>",
                                 " location=\"days/a.ndl.yaml\""),
                        "/sst");
  EXPECT_THAT(Values<int32_t>(*sst), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(sst->array().shape.size(), 2u);
  const auto wrong = Load(Document("<variable name=\"sst\"><values>1 2 3</values></variable>",
                                   " location=\"days/a.ndl.yaml\""),
                          "/sst");
  EXPECT_EQ(wrong->source, nullptr);
  EXPECT_THAT(wrong->error->message(), HasSubstr("3 values for the shape [2, 2]"));
  const auto halves =
      Load(Document("<variable name=\"level\"><values>1 2.5</values></variable>",
                    " location=\"days/a.ndl.yaml\""),
           "/level");
  EXPECT_THAT(halves->error->message(), HasSubstr("2.5 is no int8"));
  const auto none = Load(Document("<variable name=\"new\"><values>1 2</values></variable>",
                                  " location=\"days/a.ndl.yaml\""),
                         "/new");
  EXPECT_THAT(none->error->message(), HasSubstr("no file has the array"));
}

TEST_F(NcmlTest, ACoordinateThatJoinNewMakesMayBeDeclaredWithoutAShape) {
  source_->Put("days/b.ndl.yaml", Part(0));
  const auto run =
      Load(Document("<variable name=\"run\" type=\"int\"><values>7 9</values></variable>" +
                    New(kTwo)),
           "/run");
  EXPECT_THAT(Values<int32_t>(*run), ElementsAre(7, 9));
  EXPECT_TRUE(std::holds_alternative<model::DimCoord>(run->entity));
}

TEST_F(NcmlTest, ValuesMayHaveSeparatorsAndSeveralDimensions) {
  const std::string document = Document(
      "<attribute name=\"a\" type=\"int\" separator=\",\" value=\"1,2, 3\"/><dimension "
      "name=\"n\" "
      "length=\"3\"/><variable name=\"v\" type=\"double\" shape=\"n\"><values "
      "separator=\",\">1, 2,3\n</values></variable><variable name=\"w\" type=\"int\" shape=\"2 "
      "n\"><values>1 2 3 4 5 6</values></variable><variable name=\"u\" type=\"int\" "
      "shape=\"3\"><values>1 2 3</values></variable>");
  EXPECT_THAT(Values<double>(*Load(document, "/v")), ElementsAre(1, 2, 3));
  EXPECT_THAT(model::NumbersOf(Load(document, "/")->attributes(), "a"), ElementsAre(1, 2, 3));
  const auto w = Load(document, "/w");
  EXPECT_THAT(Values<int32_t>(*w), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(w->array().dimension_names, ElementsAre("", "n"));
  const auto u = Load(document, "/u");
  EXPECT_THAT(Values<int32_t>(*u), ElementsAre(1, 2, 3));
  EXPECT_TRUE(u->array().dimension_names.empty()) << "3 is a length";
}

TEST_F(NcmlTest, WhatIsRemovedOrRenamedIsNotShownUnderItsName) {
  const auto store = Open(Document(
      "<remove type=\"attribute\" name=\"title\"/><remove type=\"variable\" name=\"level\"/>"
      "<variable name=\"temp\" orgName=\"sst\"><attribute name=\"units\" "
      "value=\"degC\"/></variable>",
      " location=\"days/a.ndl.yaml\""));
  ASSERT_TRUE(store) << store.error().message();
  EXPECT_THAT((*store)->List("/").value(), ElementsAre("lon", "temp", "time"));
  EXPECT_FALSE((*store)->Load("/sst"));
  EXPECT_FALSE((*store)->Load("/level"));
  EXPECT_THAT(Values<int32_t>(**(*store)->Load("/temp")), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(TextOf(**(*store)->Load("/temp"), "units"), "degC");
  EXPECT_EQ(TextOf(**(*store)->Load("/"), "title"), "");
}

TEST_F(NcmlTest, AttributesOfNetcdfThatDescribeAreNoObstacle) {
  const std::string part = "<netcdf title=\"one\" id=\"1\" location=\"days/a.ndl.yaml\"/>";
  EXPECT_THAT(Values<int32_t>(*Load(Document(Existing(part), " title=\"all\""), "/time")),
              ElementsAre(0, 1));
}

TEST_F(NcmlTest, WhatIsNotSupportedIsNoDamage) {
  for (const std::string& document :
       {Document("<explicit/>"), Document("<variable name=\"a\" orgName=\"b\"/>"),
        Document(Existing("<scan location=\"days\" regExp=\".*\"/>")),
        Document("<aggregation type=\"tiled\" dimName=\"x\">" + std::string(kTwo) +
                 "</aggregation>")}) {
    EXPECT_EQ(Open(document).error().code(), model::ErrorCode::kUnsupported) << document;
  }
  EXPECT_EQ(Open(Document(Existing("<netcdf/>"))).error().code(), model::ErrorCode::kBadInput);
}

struct Mistake {
  const char* name;
  std::string document;
  const char* words;
};
class MistakeTest : public NcmlTest, public ::testing::WithParamInterface<Mistake> {};

TEST_P(MistakeTest, IsOneClearError) {
  const auto store = Open(GetParam().document);
  ASSERT_FALSE(store);
  EXPECT_THAT(store.error().message(), HasSubstr(GetParam().words));
}

INSTANTIATE_TEST_SUITE_P(
    All, MistakeTest,
    ::testing::Values(
        Mistake{"Empty", "", "no valid XML"},
        Mistake{"CutOff", "<netcdf><aggregation>", "no valid XML, line 1"},
        Mistake{"Doctype", "<!DOCTYPE netcdf [<!ENTITY a \"b\">]><netcdf/>", "DOCTYPE"},
        Mistake{"AnotherElement", "<catalog/>", "expected <netcdf>"},
        Mistake{"DeepNesting", Document([] {
                  std::string deep;
                  for (int i = 0; i < 20; ++i) deep += "<a>";
                  for (int i = 0; i < 20; ++i) deep += "</a>";
                  return deep;
                }()),
                "more than 16 levels"},
        Mistake{"UnknownElement", Document("<group name=\"sst\"/>"),
                "all.ncml:4:1: <group> is not supported here"},
        Mistake{"RemovalOfNothing", Document("<remove type=\"variable\"/>"),
                "lacks the attribute name"},
        Mistake{"Rename", Document("<variable name=\"a\" orgName=\"b\"/>"), "orgName=\"b\""},
        Mistake{"RenameInAJoin",
                Document("<variable name=\"a\" orgName=\"sst\"/>" + Existing(kTwo)),
                "orgName=\"sst\" in an aggregation"},
        Mistake{"ValuesOfAnUnknownLength",
                Document("<variable name=\"x\" shape=\"a b\" "
                         "type=\"int\"><values>1</values></variable>"),
                "has no length"},
        Mistake{"UnknownAggregation",
                Document("<aggregation type=\"tiled\" dimName=\"x\">" + std::string(kTwo) +
                         "</aggregation>"),
                "the aggregation \"tiled\""},
        Mistake{"NoDimension",
                Document("<aggregation type=\"joinExisting\">" + std::string(kTwo) +
                         "</aggregation>"),
                "lacks the attribute dimName"},
        Mistake{"NoFiles", Document(Existing("")), "names no files"},
        Mistake{"NoLocation", Document(Existing("<netcdf/>")), "lacks the attribute location"},
        Mistake{"Url", Document(Existing("<netcdf location=\"dods://a/b\"/>")),
                "only file names and file: URIs are supported"},
        Mistake{"NestedChanges",
                Document(Existing("<netcdf location=\"a\"><attribute name=\"a\"/></netcdf>")),
                "<attribute> is not supported here"},
        Mistake{"TwoAggregations", Document(Existing(kTwo) + Existing(kTwo)),
                "<aggregation> is not supported here"},
        Mistake{"LocationAndAggregation", Document(Existing(kTwo), " location=\"a\""),
                "a location and an <aggregation>"},
        Mistake{"ScanWithRegExp", Document(Existing("<scan location=\"days\" regExp=\".*\"/>")),
                "\"regExp\" is not supported"},
        Mistake{"ScanOfAPattern",
                Document(Existing("<scan location=\"days*\" suffix=\".nc\"/>")),
                "with *, ? or ["},
        Mistake{"ScanWithoutASuffix", Document(Existing("<scan location=\"days\"/>")),
                "without a suffix"},
        Mistake{"CountThatIsNone",
                Document(Existing("<netcdf location=\"a\" ncoords=\"-1\"/>")),
                "ncoords=-1 is no number"},
        Mistake{"CoordinatesOfExisting",
                Document(Existing("<netcdf location=\"a\" coordValue=\"1\"/>")),
                "the files have the coordinates"},
        Mistake{"SomeCoordinates",
                Document(New("<netcdf location=\"a\" coordValue=\"1\"/><netcdf "
                             "location=\"b\"/>")),
                "only 1 of 2 parts have a coordValue"},
        Mistake{"NoVariableAgg",
                Document("<aggregation type=\"joinNew\" dimName=\"r\">" + std::string(kTwo) +
                         "</aggregation>"),
                "lacks <variableAgg>"},
        Mistake{"NumberThatIsNone",
                Document("<attribute name=\"a\" type=\"int\" value=\"1 x\"/>"),
                "\"x\" is no int32"},
        Mistake{"NumberTooLarge",
                Document("<attribute name=\"a\" type=\"byte\" value=\"300\"/>"),
                "\"300\" is no int8"},
        Mistake{"UnknownType",
                Document("<attribute name=\"a\" type=\"Structure\" value=\"1\"/>"),
                "the type \"Structure\""},
        Mistake{"WrongLength",
                Document("<dimension name=\"x\" length=\"3\"/><variable name=\"x\" shape=\"x\" "
                         "type=\"int\"><values>1 2</values></variable>"),
                "2 values along \"x\", which has the length 3"},
        Mistake{"VeryManyValues",
                Document("<variable name=\"x\" shape=\"x\" type=\"int\"><values start=\"0\" "
                         "increment=\"1\" npts=\"99999999999\"/></variable>"),
                "too many values"},
        Mistake{"ValuesOutOfRange",
                Document("<variable name=\"x\" shape=\"x\" type=\"byte\"><values start=\"100\" "
                         "increment=\"100\" npts=\"3\"/></variable>"),
                "values"},
        Mistake{"TwoVariables", Document("<variable name=\"x\"/><variable name=\"x\"/>"),
                "two variables \"x\""},
        Mistake{"NoValues", Document("<variable name=\"x\" type=\"int\"/>"),
                "\"x\" has no values"}),
    [](const auto& info) { return info.param.name; });

TEST_F(NcmlTest, PathsStayInsideTheSource) {
  for (const char* path : {"../a.nc", "/etc/passwd", "file:/etc/passwd"}) {
    const std::string part = std::string("<netcdf location=\"") + path + "\"/>";
    const auto store = Open(Document(Existing(part)));
    ASSERT_TRUE(store);
    EXPECT_THAT((*store)->Load("/sst").error().message(), HasSubstr("leads out of the source"));
  }
}

TEST_F(NcmlTest, ADocumentThatNamesItselfIsAnError) {
  const auto node = Open(Document("", " location=\"all.ncml\"")).value()->Load("/sst");
  EXPECT_THAT(node.error().message(), HasSubstr("circle"));
}

TEST_F(NcmlTest, IsKnownByItsContentOrItsName) {
  source_->Put("any", Document(""));
  source_->Put("x.xml", "<a/>                                   <netcdf ncml-2.2>");
  source_->Put("prefixed",
               "<nc:netcdf xmlns:nc=\"https://www.unidata.ucar.edu/namespaces/"
               "netcdf/ncml-2.2\"></nc:netcdf>");
  source_->Put("broken.ncml", "this is no XML at all, but the name says what it is");
  EXPECT_EQ(DetectFile(*source_, "any"), &NcmlFormat());
  EXPECT_EQ(DetectFile(*source_, "x.xml"), nullptr);
  EXPECT_EQ(DetectFile(*source_, "prefixed"), &NcmlFormat());
  EXPECT_EQ(DetectFile(*source_, "broken.ncml"), &NcmlFormat());
}

}  // namespace
}  // namespace ndlfs::backends
