// SPDX-License-Identifier: MIT
//
// The documents in tests/data/ndl: what people write, and beside it in
// canonical/ the same as ndlfs writes it. And those in tests/corrupt/ndl, which
// begin with the errors that are to be reported: "# expect LINE:COLUMN: ...".
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "model/ndl/ndl_reader.h"
#include "model/ndl/ndl_writer.h"

namespace ndlfs::model {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAreArray;
using ::testing::SizeIs;

const fs::path kDocuments = fs::path(NDLFS_TEST_DATA) / "ndl";
const fs::path kCorrupt = fs::path(NDLFS_TEST_DATA).parent_path() / "corrupt" / "ndl";

std::string ReadFile(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  EXPECT_TRUE(stream) << path;
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::vector<std::string> NamesIn(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> Lines(const std::vector<Diagnostic>& errors) {
  std::vector<std::string> lines;
  for (const Diagnostic& error : errors) {
    lines.push_back(FormatDiagnostic("", error).substr(1));
  }
  return lines;
}

File Document(const std::string& name) {
  const ParsedDocument parsed = ReadNdl(ReadFile(kDocuments / (name + ".yaml")), name);
  EXPECT_THAT(Lines(parsed.errors), SizeIs(0));
  return parsed.file.value_or(File());
}

const Group& Child(const Group& group, std::string_view name) {
  static const Group kNone;
  for (const Group& child : group.groups) {
    if (child.name == name) return child;
  }
  ADD_FAILURE() << "no group " << name;
  return kNone;
}

class DocumentTest : public testing::TestWithParam<std::string> {};

TEST_P(DocumentTest, IsReadAndWrittenCanonically) {
  const File file = Document(GetParam());
  const std::string canonical = ReadFile(kDocuments / "canonical" / (GetParam() + ".yaml"));
  EXPECT_EQ(WriteFile(file), canonical);
  const ParsedDocument again = ReadNdl(canonical, GetParam());
  ASSERT_TRUE(again.file);
  EXPECT_TRUE(*again.file == file);
}

INSTANTIATE_TEST_SUITE_P(All, DocumentTest, testing::ValuesIn(NamesIn(kDocuments)),
                         [](const auto& info) { return info.param; });

class CorruptDocumentTest : public testing::TestWithParam<std::string> {};

TEST_P(CorruptDocumentTest, IsRefusedWithTheReason) {
  const std::string text = ReadFile(kCorrupt / (GetParam() + ".yaml"));
  constexpr std::string_view kExpect = "# expect ";
  std::vector<std::string> expected;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line) && line.starts_with(kExpect);) {
    expected.push_back(line.substr(kExpect.size()));
  }
  ASSERT_FALSE(expected.empty());
  const ParsedDocument parsed = ReadNdl(text, GetParam());
  EXPECT_FALSE(parsed.file);
  EXPECT_THAT(Lines(parsed.errors), ElementsAreArray(expected));
}

INSTANTIATE_TEST_SUITE_P(All, CorruptDocumentTest, testing::ValuesIn(NamesIn(kCorrupt)),
                         [](const auto& info) { return info.param; });

TEST(SpecificationTest, TheShortFormMeansTheSame) {
  const auto attributes = Document("spec_attributes").root.attributes;
  ASSERT_THAT(attributes, SizeIs(5));
  for (const auto& [full, abbreviated] : {std::pair(0, 2), std::pair(1, 3)}) {
    EXPECT_EQ(attributes[full].type, attributes[abbreviated].type);
    EXPECT_EQ(attributes[full].shape, attributes[abbreviated].shape);
    EXPECT_EQ(attributes[full].value, attributes[abbreviated].value);
  }
  EXPECT_EQ(attributes[3].type, Datatype::Integer(4, true));
  EXPECT_EQ(attributes[4].value, (Value::List{"power on", "power off", "error"}));
}

TEST(SpecificationTest, PathNamesOfDimensionsAcrossGroups) {
  const Group root = Document("spec_groups").root;
  const Ndarray& nd = Child(Child(root, "group2"), "subgroup1").ndarrays.front();
  EXPECT_EQ(nd.shape, (Shape{{std::nullopt, "/group1/d2"}, {150, "/d1"}}));
}

TEST(SpecificationTest, AnEnumWithoutBaseIsAsSmallAsCanBe) {
  const auto arrays = Document("spec_datatypes").root.ndarrays;
  EXPECT_EQ(arrays[3].type.base(), Datatype::Integer(1, false));
}

TEST(JpssTest, ReferencesPointIntoTheFile) {
  const Group root = Document("jpss_viirs").root;
  const auto& arrays = Child(Child(root, "Data_Products"), "VIIRS-I1-SDR").ndarrays;
  EXPECT_EQ((*arrays[0].value->list())[1], Value("/All_Data/VIIRS-I1-SDR_All/RadianceFactors"));
  EXPECT_TRUE((*arrays[0].value->list())[3].is_null());
  const Region region{"/All_Data/VIIRS-I1-SDR_All/Radiance",
                      Datatype::Selection::kBlock,
                      {{0, 0}, {1535, 6399}}};
  EXPECT_EQ((*arrays[1].value->list())[0], Value(region));
}

}  // namespace
}  // namespace ndlfs::model
