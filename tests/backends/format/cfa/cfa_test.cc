// SPDX-License-Identifier: MIT
//
// Aggregation variables. Documents take the place of netCDF files here.
#include "backends/format/cfa/cfa.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "backends/detection.h"
#include "backends/format/ndl/ndl.h"
#include "backends/format/read_elements.h"
#include "tests/support/memory_source.h"

namespace ndlfs::backends::cfa {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A file with the array t of two times and `columns` columns.
std::string FragmentFile(const std::string& values, int columns = 2,
                         const std::string& attributes = "units: K",
                         const std::string& type = "float32") {
  return "/: {ndarrays: {t: {shape: [2, " + std::to_string(columns) + "], type: " + type +
         ", attributes: {" + attributes + "}, value: " + values + "}}}";
}

// What an aggregation file has; the default is four fragments in two rows and two columns.
struct Terms {
  std::string attributes = "units: K";
  std::string type = "float32";
  std::string dimensions = "time x";
  std::string data = "location: loc file: files format: form address: names";
  std::string location = "shape: [2, 2], type: int32, value: [[2, 2], [2, 1]]";
  std::string files =
      "shape: [2, 2], type: string, value: [[a.ndl.yaml, d/b.ndl.yaml], [c.ndl.yaml, "
      "e.ndl.yaml]]";
  std::string format = "shape: [], type: string, value: nc";
  std::string names = "shape: [2, 2], type: string, value: [[t, t], [t, t]]";
};

class CfaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    source_->Put("a.ndl.yaml", FragmentFile("[[0, 1], [10, 11]]"));
    source_->Put("d/b.ndl.yaml", FragmentFile("[[2], [12]]", 1));
    source_->Put("c.ndl.yaml", FragmentFile("[[20, 21], [30, 31]]"));
    source_->Put("e.ndl.yaml", FragmentFile("[[22], [32]]", 1));
  }

  std::shared_ptr<const Hierarchy> Open(const std::string& document) {
    source_->Put("all.ndl.yaml", document);
    auto file = OpenDetected(NdlFormat(), source_, "all.ndl.yaml", {});
    if (!file) ADD_FAILURE() << file.error().message();
    if (!file) return nullptr;
    OpenOptions options = options_;
    options.open_store = OpenAnyStore;
    return WithAggregations(*file, source_, "all.ndl.yaml", options);
  }
  static std::string Document(const Terms& terms) {
    return "/:\n  dimcoords:\n    x: {size: 3, type: int32, value: [5, 6, 7]}\n  ndarrays:\n   "
           " t: {shape: [], type: " +
           terms.type + ", value: 0, attributes: {" + terms.attributes +
           (terms.attributes.empty() ? "" : ", ") +
           "aggregated_dimensions: " + terms.dimensions + ", aggregated_data: \"" + terms.data +
           "\"}}\n    loc: {" + terms.location + "}\n    files: {" + terms.files +
           "}\n    form: {" + terms.format + "}\n    names: {" + terms.names + "}\n";
  }
  std::shared_ptr<const Node> Load(const std::string& document,
                                   const std::string& path = "/t") {
    const auto file = Open(document);
    if (!file) return nullptr;
    const auto node = file->Load(path);
    if (!node) ADD_FAILURE() << node.error().message();
    return node ? *node : nullptr;
  }
  std::string ErrorOf(const std::string& document) {
    const auto node = Load(document);
    if (!node) return "no node";
    if (node->error) {
      EXPECT_EQ(node->source, nullptr);
      return node->error->message();
    }
    const auto elements = ReadElements(*node->source, 1 << 20);
    return elements ? "no error" : elements.error().message();
  }
  std::string ErrorOf(const Terms& terms) { return ErrorOf(Document(terms)); }

  // Element by element, as joins along other dimensions than the first are read by the cache.
  static std::vector<float> Values(const ArraySource& source) {
    if (const auto* joined = source.joined(); joined && joined->dim() == 1) {
      std::vector<float> all(source.spec().shape[0] * source.spec().shape[1]);
      for (size_t i = 0; i + 1 < joined->bounds().size(); ++i) {
        const auto part = joined->OpenPart(i);
        if (!part) ADD_FAILURE() << part.error().message();
        if (!part) return {};
        const uint64_t width = joined->bounds()[i + 1] - joined->bounds()[i];
        std::vector<float> values(source.spec().shape[0] * width, -1);
        if (part->source) values = Values(*part->source);
        for (size_t k = 0; k < values.size(); ++k) {
          all[k / width * source.spec().shape[1] + joined->bounds()[i] + k % width] = values[k];
        }
      }
      return all;
    }
    if (const auto* joined = source.joined()) {
      std::vector<float> all;
      for (size_t i = 0; i + 1 < joined->bounds().size(); ++i) {
        const auto part = joined->OpenPart(i);
        if (!part) ADD_FAILURE() << part.error().message();
        if (!part) return {};
        const auto values = Values(*part->source);
        all.insert(all.end(), values.begin(), values.end());
      }
      return all;
    }
    const auto bytes = ReadElements(source, 1 << 20);
    if (!bytes) ADD_FAILURE() << bytes.error().message();
    if (!bytes) return {};
    std::vector<float> values(bytes->size() / sizeof(float));
    std::memcpy(values.data(), bytes->data(), bytes->size());
    return values;
  }

  const std::shared_ptr<test::MemorySource> source_ = test::MemorySource::Make();
  OpenOptions options_;
};

TEST_F(CfaTest, FragmentsInRowsAndColumnsAreOneArray) {
  const auto node = Load(Document({}));
  ASSERT_NE(node, nullptr);
  ASSERT_NE(node->source, nullptr) << node->error->message();
  EXPECT_THAT(node->source->spec().shape, ElementsAre(4, 3));
  EXPECT_THAT(Values(*node->source), ElementsAre(0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32));
  const model::Ndarray& array = node->array();
  EXPECT_THAT(array.dimension_names, ElementsAre("time", "x"));
  EXPECT_EQ(array.shape[1].dimcoord, "/x");
  ASSERT_EQ(array.attributes.size(), 1u);
  EXPECT_EQ(array.attributes[0].name, "units");
}

TEST_F(CfaTest, TermsOfTheCfConventionsAndPathNamesAreUnderstood) {
  Terms terms;
  terms.data = "MAP: /loc uris: files identifiers: names";
  terms.names = "shape: [], type: string, value: t";
  EXPECT_EQ(ErrorOf(terms), "an array that is joined along 1");
}

TEST_F(CfaTest, FragmentWithoutFileAndAddressIsMissingValues) {
  Terms terms;
  terms.attributes = "units: K, _FillValue: -1.0";
  terms.files = "shape: [2, 1], type: string, value: [[a.ndl.yaml], [\"\"]]";
  terms.names = "shape: [2, 1], type: string, value: [[t], [\"\"]]";
  source_->Put("a.ndl.yaml",
               FragmentFile("[[0, 1], [10, 11]]", 2, "units: K, _FillValue: -1.0"));
  const auto node = Load(Document(terms));
  ASSERT_NE(node, nullptr);
  ASSERT_NE(node->source, nullptr) << node->error->message();
  const auto bytes = ReadElements(*node->source, 100);
  ASSERT_TRUE(bytes) << bytes.error().message();
  EXPECT_THAT(Values(*node->source->joined()->OpenPart(0)->source), ElementsAre(0, 1, 10, 11));
  float last = 0;
  std::memcpy(&last, bytes->data() + 28, sizeof(last));
  EXPECT_EQ(last, -1);
}

TEST_F(CfaTest, FragmentOfTheSameFileMayLackADimensionAndUnits) {
  const auto node = Load(
      "/: {ndarrays: {t: {shape: [], type: float32, value: 0, attributes: {units: K, "
      "aggregated_dimensions: time z, aggregated_data: 'location: loc file: files address: "
      "names'}}, loc: {shape: [2, 2], type: int32, value: [[2, 1], [1, 0]]}, files: {shape: "
      "[2, 1], type: "
      "string, value: [[''], ['']]}, names: {shape: [2, 1], type: string, "
      "value: [[p], "
      "[q]]}, p: {shape: [2], type: float32, value: [1, 2]}, q: {shape: [1, 1], type: float32, "
      "value: [[3]]}}}");
  ASSERT_NE(node, nullptr);
  ASSERT_NE(node->source, nullptr) << node->error->message();
  EXPECT_THAT(Values(*node->source), ElementsAre(1, 2, 3));
}

TEST_F(CfaTest, PackedFragmentIsUnpacked) {
  Terms terms;
  terms.files = "shape: [2, 1], type: string, value: [[a.ndl.yaml], [c.ndl.yaml]]";
  terms.names = "shape: [2, 1], type: string, value: [[t], [t]]";
  source_->Put("c.ndl.yaml",
               FragmentFile("[[1, 2], [3, 4]]", 2,
                            "units: K, scale_factor: 0.5, add_offset: 10.0", "int16"));
  const auto node = Load(Document(terms));
  ASSERT_NE(node, nullptr);
  ASSERT_NE(node->source, nullptr) << node->error->message();
  const auto bytes = ReadElements(*node->source, 100);
  ASSERT_TRUE(bytes) << bytes.error().message();
  std::vector<float> values(8);
  std::memcpy(values.data(), bytes->data(), 32);
  EXPECT_THAT(values, ElementsAre(0, 1, 10, 11, 10.5, 11, 11.5, 12));
}

TEST_F(CfaTest, MissingValuesOfAPackedFragmentAreThoseOfTheVariable) {
  Terms terms;
  terms.attributes = "units: K, _FillValue: -1.0";
  terms.files = "shape: [1, 1], type: string, value: [[c.ndl.yaml]]";
  terms.names = "shape: [1, 1], type: string, value: [[t]]";
  source_->Put(
      "c.ndl.yaml",
      FragmentFile("[[1, 2], [-9, 4]]", 2,
                   "units: K, scale_factor: 0.5, add_offset: 10.0, _FillValue: -9", "int16"));
  const auto node = Load(Document(terms));
  ASSERT_NE(node, nullptr);
  ASSERT_NE(node->source, nullptr) << node->error->message();
  const auto bytes = ReadElements(*node->source, 100);
  ASSERT_TRUE(bytes) << bytes.error().message();
  std::vector<float> values(4);
  std::memcpy(values.data(), bytes->data(), 16);
  EXPECT_THAT(values, ElementsAre(10.5, 11, -1, 12));
}

TEST_F(CfaTest, SubstitutionsNameTheFolder) {
  Terms terms;
  terms.files =
      "shape: [2, 2], type: string, attributes: {substitutions: \"${base}: d/\"}, "
      "value: "
      "[[a.ndl.yaml, \"${base}b.ndl.yaml\"], [c.ndl.yaml, e.ndl.yaml]]";
  EXPECT_EQ(ErrorOf(terms), "an array that is joined along 1");
}

TEST_F(CfaTest, ChangeOfAFragmentIsAChangeOfTheArrayAlone) {
  const auto file = Open(Document({}));
  ASSERT_NE(file, nullptr);
  ASSERT_TRUE(file->Load("/t"));
  const uint64_t before = file->Version("/t").value();
  const uint64_t of_files = file->Version("/files").value();
  EXPECT_EQ(*file->Load("/t"), *file->Load("/t"));
  source_->Put("c.ndl.yaml", FragmentFile("[[50, 51], [60, 61]]"));
  EXPECT_NE(file->Version("/t").value(), before);
  EXPECT_EQ(file->Version("/files").value(), of_files);
  EXPECT_THAT(Values(*(*file->Load("/t"))->source),
              ElementsAre(0, 1, 2, 10, 11, 12, 50, 51, 22, 60, 61, 32));
}

TEST_F(CfaTest, FragmentThatIsMissingIsNamed) {
  source_->Remove("d/b.ndl.yaml");
  EXPECT_THAT(ErrorOf(Terms()), HasSubstr("is missing: d/b.ndl.yaml"));
}

TEST_F(CfaTest, FragmentOutsideTheSourceIsRefused) {
  Terms terms;
  terms.files = "shape: [], type: string, value: x";
  for (const char* name : {"../b.nc", "/etc/b.nc", "file:///etc/b.nc"}) {
    terms.files = "shape: [1, 1], type: string, value: [[" + std::string(name) + "]]";
    terms.names = "shape: [1, 1], type: string, value: [[t]]";
    EXPECT_THAT(ErrorOf(terms), HasSubstr("leads out of the source")) << name;
  }
  terms.files = "shape: [1, 1], type: string, value: [[\"https://a.org/b.nc\"]]";
  EXPECT_THAT(ErrorOf(terms), HasSubstr("only file names and file: URIs are supported"));
}

TEST_F(CfaTest, FragmentThatIsAnotherArrayIsNamed) {
  source_->Put("a.ndl.yaml", FragmentFile("[[0, 1], [10, 11]]", 2, "units: degC"));
  EXPECT_THAT(ErrorOf(Terms()),
              AllOf(HasSubstr("units"), HasSubstr("degC"), HasSubstr("a.ndl.yaml: /t"),
                    HasSubstr("all.ndl.yaml: /t")));
  source_->Put("a.ndl.yaml", FragmentFile("[[0], [10]]", 1));
  EXPECT_THAT(ErrorOf(Terms()),
              HasSubstr("a.ndl.yaml: /t has the shape [2, 1], expected [2, 2]"));
  source_->Put("a.ndl.yaml", "/: {ndarrays: {u: {shape: [1], type: int8, value: [0]}}}");
  EXPECT_THAT(ErrorOf(Terms()), HasSubstr("no \"/t\""));
}

TEST_F(CfaTest, AggregationOfItselfIsACircle) {
  Terms terms;
  terms.files = "shape: [1, 1], type: string, value: [[all.ndl.yaml]]";
  terms.names = "shape: [1, 1], type: string, value: [[t]]";
  EXPECT_THAT(ErrorOf(terms), HasSubstr("circle"));
}

TEST_F(CfaTest, MistakesInInstructionsAreNamed) {
  const auto error_with = [&](auto change) {
    Terms terms;
    change(terms);
    return ErrorOf(terms);
  };
  EXPECT_THAT(error_with([](Terms& t) { t.data = "location: loc file: files"; }),
              HasSubstr("the term \"address\" is missing"));
  EXPECT_THAT(error_with([](Terms& t) { t.data = "location: loc address: files shape: loc"; }),
              HasSubstr("and \"shape\" is not known"));
  EXPECT_THAT(error_with([](Terms& t) { t.data = "location loc"; }),
              HasSubstr("expected \"term: value\", found \"location\""));
  EXPECT_THAT(error_with([](Terms& t) { t.data = "file: files file: files"; }),
              HasSubstr("the term \"file\" occurs twice"));
  EXPECT_THAT(
      error_with([](Terms& t) { t.data = "location: none file: files address: names"; }),
      HasSubstr("there is no variable \"none\""));
  EXPECT_THAT(error_with([](Terms& t) { t.data = "map: loc unique_values: names"; }),
              HasSubstr("unique_values is not supported"));
  EXPECT_THAT(error_with([](Terms& t) { t.data = "location: loc file: loc address: names"; }),
              HasSubstr("expected texts, found int32"));
  EXPECT_THAT(error_with([](Terms& t) { t.format = "shape: [], type: string, value: pp"; }),
              HasSubstr("the format \"pp\" is not supported"));
  EXPECT_THAT(error_with([](Terms& t) { t.dimensions = "time y x z"; }),
              HasSubstr("the variable with the file names has 2 dimensions, expected 4"));
  EXPECT_THAT(error_with([](Terms& t) {
                t.location = "shape: [2, 1], type: int32, value: [[2], [2]]";
              }),
              HasSubstr("2 fragments along \"time\", but 1 sizes"));
  EXPECT_THAT(error_with([](Terms& t) {
                t.location = "shape: [2, 2], type: int32, value: [[2, 2], [2, -5]]";
              }),
              HasSubstr("the size of fragment 1 along \"x\" is missing or not positive"));
  EXPECT_THAT(error_with([](Terms& t) {
                t.location =
                    "shape: [2, 2], type: int64, value: [[2, 9000000000000000000], "
                    "[9000000000000000000, 1]]";
              }),
              HasSubstr("too large"));
  EXPECT_THAT(
      error_with([](Terms& t) { t.names = "shape: [1, 2], type: string, value: [[t, t]]"; }),
      HasSubstr("differ in shape"));
}

// --- CFA 0.4

std::string Partitioned(const std::string& array) {
  return "/: {ndarrays: {t: {shape: [], type: float32, value: 0, attributes: {units: K, "
         "cf_role: "
         "cfa_variable, cfa_dimensions: time x, cfa_array: '" +
         array + "'}}}}";
}
std::string PartitionAt(int index, const std::string& location, const std::string& file,
                        const std::string& more = "") {
  return R"({"index": [)" + std::to_string(index) + R"(], "location": )" + location +
         R"(, "subarray": {"file": ")" + file + R"(", "ncvar": "t", "shape": [2, 2]})" + more +
         "}";
}
std::string Matrix(const std::string& partitions) {
  return R"({"base": "", "pmshape": [2], "pmdimensions": ["time"], "Partitions": [)" +
         partitions + "]}";
}

TEST_F(CfaTest, PartitionsOfTheOldConventionsAreFragments) {
  const std::string first = PartitionAt(0, "[[0, 1], [0, 1]]", "a.ndl.yaml");
  const std::string second = PartitionAt(1, "[[2, 3], [0, 1]]", "c.ndl.yaml");
  const auto node = Load(Partitioned(Matrix(second + ", " + first)));
  ASSERT_NE(node, nullptr);
  ASSERT_NE(node->source, nullptr) << node->error->message();
  EXPECT_THAT(Values(*node->source), ElementsAre(0, 1, 10, 11, 20, 21, 30, 31));
  EXPECT_EQ(node->attributes().size(), 1u);
}

TEST_F(CfaTest, MistakesInPartitionsAreNamed) {
  const std::string first = PartitionAt(0, "[[0, 1], [0, 1]]", "a.ndl.yaml");
  const auto error_of = [&](const std::string& array) { return ErrorOf(Partitioned(array)); };
  EXPECT_THAT(error_of("["), HasSubstr("cfa_array: "));
  EXPECT_THAT(error_of("[1]"), HasSubstr("expected an object"));
  EXPECT_THAT(error_of(Matrix(first)), HasSubstr("Partitions: expected a list of 2"));
  EXPECT_THAT(error_of(Matrix(first + ", " + first)),
              HasSubstr("Partitions[1]: another partition has the same index"));
  EXPECT_THAT(error_of(Matrix(first + ", " + PartitionAt(2, "[[2, 3], [0, 1]]", "c.ndl.yaml"))),
              HasSubstr("index: 2 is out of range"));
  EXPECT_THAT(error_of(Matrix(first + ", " + PartitionAt(1, "[[3, 4], [0, 1]]", "c.ndl.yaml"))),
              HasSubstr("a partition begins at 3 along \"time\", the one before ends at 2"));
  EXPECT_THAT(error_of(Matrix(first + ", " + PartitionAt(1, "[[2, 3], [0, 2]]", "c.ndl.yaml"))),
              HasSubstr("others of this row"));
  EXPECT_THAT(error_of(Matrix(
                  first + ", " +
                  PartitionAt(1, "[[2, 3], [0, 1]]", "c.ndl.yaml", R"(, "reverse": ["x"])"))),
              HasSubstr("\"reverse\" is not supported"));
  EXPECT_THAT(
      error_of(
          R"({"pmshape": [4000000000, 4000000000], "pmdimensions": ["time", "x"], "Partitions": []})"),
      HasSubstr("too many partitions"));
  EXPECT_THAT(error_of(R"({"pmshape": [2], "pmdimensions": ["y"], "Partitions": []})"),
              HasSubstr("2 partitions along \"y\""));
}

}  // namespace
}  // namespace ndlfs::backends::cfa
