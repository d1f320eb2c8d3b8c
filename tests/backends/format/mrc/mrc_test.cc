// SPDX-License-Identifier: MIT
//
// MRC files as stores. The headers are those of MRC2014's table, filled in by hand.
#include "backends/format/mrc/mrc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/attributes.h"
#include "model/base64.h"
#include "tests/support/memory_source.h"
#include "tests/support/mrc_builder.h"
#include "tests/support/read_array.h"
#include "tests/support/result.h"

namespace ndlfs::backends {
namespace {

using test::IsOk;
using test::IsOkAnd;
using test::MrcHeader;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class MrcTest : public testing::Test {
 protected:
  model::Result<std::shared_ptr<const Hierarchy>> TryOpen(const std::string& bytes) {
    source_->Put("a.mrc", bytes);
    return MrcFormat().Open(source_, "a.mrc", {});
  }
  void Open(const std::string& bytes) {
    auto opened = TryOpen(bytes);
    ASSERT_THAT(opened, IsOk());
    hierarchy_ = *std::move(opened);
  }
  std::shared_ptr<const Node> Load(const std::string& path = "/a") const {
    return hierarchy_->Load(path).value();
  }
  std::vector<std::string> Dims() const { return Load()->array().dimension_names; }
  model::Result<std::string> Elements(const std::string& path = "/a") const {
    return test::ReadWhole(*Load(path)->source);
  }
  // Why the file cannot be shown.
  std::string ErrorOf(const std::string& bytes) {
    auto opened = TryOpen(bytes);
    if (!opened) return opened.error().message();
    const auto node = (*opened)->Load("/a").value();
    return node->error ? node->error->message() : "no error";
  }

  const std::shared_ptr<test::MemorySource> source_ = test::MemorySource::Make();
  std::shared_ptr<const Hierarchy> hierarchy_;
};

using WordMap = std::map<int, uint32_t>;
const WordMap kVolume = {{1, 3}, {2, 1}, {3, 2}, {4, 1}};

TEST_F(MrcTest, SectionsAreTheSlowestDimension) {
  const std::string elements("\1\0\2\0\3\0\4\0\5\0\6\0", 12);
  Open(MrcHeader(kVolume) + elements);
  EXPECT_THAT(Dims(), ElementsAre("z", "y", "x"));
  EXPECT_EQ(Load()->array().type.keyword(), "int16");
  EXPECT_THAT(Elements(), IsOkAnd(elements));
}

TEST_F(MrcTest, StampTellsTheByteOrder) {
  Open(MrcHeader(kVolume, true) + std::string("\0\1\0\2\0\3\0\4\0\5\0\6", 12));
  EXPECT_THAT(Elements(), IsOkAnd(std::string("\1\0\2\0\3\0\4\0\5\0\6\0", 12)));
}

TEST_F(MrcTest, AxesMayBeInAnotherOrder) {
  WordMap words = kVolume;
  words.insert({{17, 3}, {18, 1}, {19, 2}});
  Open(MrcHeader(words) + std::string(12, '\0'));
  EXPECT_THAT(Dims(), ElementsAre("y", "x", "z"));
}

TEST_F(MrcTest, SpaceGroupTellsImagesAndStacks) {
  Open(MrcHeader({{1, 2}, {2, 1}, {3, 1}, {23, 0}}) + "ab");
  EXPECT_THAT(Dims(), ElementsAre("y", "x"));
  Open(MrcHeader({{1, 1}, {2, 1}, {3, 3}, {23, 0}}) + "abc");
  EXPECT_THAT(Dims(), ElementsAre("image", "y", "x"));
  Open(MrcHeader({{1, 1}, {2, 1}, {3, 6}, {10, 2}, {23, 401}}) + "abcdef");
  EXPECT_THAT(Dims(), ElementsAre("volume", "z", "y", "x"));
  EXPECT_EQ(Load()->source->spec().shape, (std::vector<uint64_t>{3, 2, 1, 1}));
}

TEST_F(MrcTest, CellTellsCoordinates) {
  WordMap words = kVolume;
  words.insert({{8, 3}, {11, std::bit_cast<uint32_t>(6.0f)}, {5, 10}});
  Open(MrcHeader(words) + std::string(12, '\0'));
  EXPECT_THAT(hierarchy_->List("/"), IsOkAnd(ElementsAre("a", "x")));
  const auto bytes = Elements("/x").value();
  EXPECT_EQ(bytes.size(), 24u);
  double first = 0;
  std::memcpy(&first, bytes.data(), sizeof(first));
  EXPECT_EQ(first, 20) << "the tenth element of 2 angstroms each";
  words[50] = std::bit_cast<uint32_t>(-5.0f);
  Open(MrcHeader(words) + std::string(12, '\0'));
  std::memcpy(&first, Elements("/x").value().data(), sizeof(first));
  EXPECT_EQ(first, -5);
}

TEST_F(MrcTest, ExtendedHeaderIsSkipped) {
  Open(MrcHeader({{1, 1}, {2, 1}, {3, 2}, {24, 5}}) + "12345ab");
  EXPECT_THAT(Elements(), IsOkAnd("ab"));
}

TEST_F(MrcTest, BytesOfImodHaveNoSignIfItSaysSo) {
  Open(MrcHeader({{1, 1}, {2, 1}, {3, 1}}) + "a");
  EXPECT_EQ(Load()->array().type.keyword(), "int8");
  Open(MrcHeader({{1, 1}, {2, 1}, {3, 1}, {39, 1146047817}}) + "a");
  EXPECT_EQ(Load()->array().type.keyword(), "uint8");
  Open(MrcHeader({{1, 1}, {2, 1}, {3, 1}, {39, 1146047817}, {40, 1}}) + "a");
  EXPECT_EQ(Load()->array().type.keyword(), "int8");
}

TEST_F(MrcTest, LabelsAreAttributes) {
  std::string header = MrcHeader({{1, 1}, {2, 1}, {3, 1}, {56, 1}});
  header.replace(224, 12, "made by hand");
  Open(header + "a");
  EXPECT_EQ(model::TextOf(Load("/")->attributes(), "LABEL1"), "made by hand");
}

TEST_F(MrcTest, HeaderIsKeptInLittleEndianOrder) {
  const auto header = [&] {
    const auto bytes =
        model::DecodeBase64(model::TextOf(Load("/")->attributes(), "HEADER")).value();
    return std::string(AsText(bytes));
  };
  const std::string elements(12, '\0');
  std::string little = MrcHeader(kVolume);
  little.replace(24 * 4, 4, "rest");
  Open(little + elements);
  EXPECT_EQ(header(), little);
  std::string big;
  for (size_t word = 0; word < 52; ++word) {
    for (size_t i = 4; i-- > 0;) big += little[word * 4 + i];
  }
  big += "MAP " + std::string("\x11\x11\0\0", 4) + little.substr(216);
  Open(big + elements);
  little.replace(24 * 4, 4, std::string(4, '\0'));
  EXPECT_EQ(header().substr(0, 208), little.substr(0, 208));
  EXPECT_EQ(header().substr(208, 6), "MAP DD");
}

TEST_F(MrcTest, OtherFilesAreNone) {
  const auto is_mrc = [](const std::string& text) {
    return MrcFormat().ProbeContent(AsBytes(text));
  };
  EXPECT_TRUE(is_mrc(MrcHeader(kVolume)));
  EXPECT_FALSE(is_mrc(MrcHeader(kVolume).substr(0, 200)));
  EXPECT_FALSE(is_mrc(MrcHeader({{1, 0}, {2, 1}, {3, 1}})));
  std::string header = MrcHeader(kVolume);
  // Some programs write no stamp: then the header has to make sense.
  header[212] = 'x';
  EXPECT_TRUE(is_mrc(header));
  header[12] = 77;  // no mode
  EXPECT_FALSE(is_mrc(header));
}

TEST_F(MrcTest, MistakesAreNamed) {
  EXPECT_THAT(ErrorOf(MrcHeader(kVolume) + "few"), HasSubstr("the header needs"));
  EXPECT_THAT(ErrorOf(MrcHeader({{1, 1}, {2, 1}, {3, 1}, {4, 77}}) + "a"),
              HasSubstr("MODE: 77"));
  EXPECT_THAT(ErrorOf(MrcHeader({{1, 1}, {2, 1}, {3, 1}, {4, 101}}) + "a"),
              HasSubstr("MODE: 101"));
  EXPECT_THAT(ErrorOf(MrcHeader({{1, 0xFFFFFFFF}, {2, 1}, {3, 1}}) + "a"),
              HasSubstr("NX, NY, NZ: -1 is no size"));
  EXPECT_THAT(ErrorOf(MrcHeader({{1, 0x7FFFFFFF}, {2, 0x7FFFFFFF}, {3, 0x7FFFFFFF}}) + "a"),
              HasSubstr("more data than any file has"));
  EXPECT_THAT(ErrorOf(MrcHeader({{1, 1}, {2, 1}, {3, 1}, {18, 1}}) + "a"),
              HasSubstr("1, 1, 3 are no axes"));
  EXPECT_THAT(ErrorOf(MrcHeader({{1, 1}, {2, 1}, {3, 1}, {24, 0x80000000}}) + "a"),
              HasSubstr("NSYMBT"));
  EXPECT_THAT(ErrorOf(MrcHeader({{1, 1}, {2, 1}, {3, 5}, {10, 2}, {23, 401}}) + "abcde"),
              HasSubstr("no whole number of volumes"));
  EXPECT_THAT(ErrorOf("text"), HasSubstr("no header of MRC"));
}

}  // namespace
}  // namespace ndlfs::backends
