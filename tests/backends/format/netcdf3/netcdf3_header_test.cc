// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "backends/format/netcdf3/header.h"
#include "tests/support/memory_store.h"
#include "tests/support/result.h"

namespace ndlfs::backends::netcdf3 {
namespace {

using model::ErrorCode;
using test::IsError;
using ::testing::HasSubstr;

std::string Big(uint64_t number, size_t bytes) {
  std::string text;
  for (size_t i = bytes; i-- > 0;) text += static_cast<char>(number >> (8 * i));
  return text;
}

// Builds headers piece by piece, with counts as wide as the version has them.
struct Builder {
  int version = 1;
  std::string Count(uint64_t n) const { return Big(n, version == 5 ? 8 : 4); }
  std::string Offset(uint64_t n) const { return Big(n, version == 1 ? 4 : 8); }
  std::string Magic(uint64_t records = 0) const {
    return std::string("CDF") + static_cast<char>(version) + Count(records);
  }
  std::string Absent() const { return Big(0, 4) + Count(0); }
  std::string List(uint32_t tag, uint64_t count) const { return Big(tag, 4) + Count(count); }
  std::string Name(std::string name) const {
    const std::string count = Count(name.size());
    name.resize((name.size() + 3) / 4 * 4);
    return count + name;
  }
  std::string Dimension(const std::string& name, uint64_t size) const {
    return Name(name) + Count(size);
  }
  std::string Variable(const std::string& name, const std::vector<uint64_t>& ids, uint32_t type,
                       uint64_t begin) const {
    std::string text = Name(name) + Count(ids.size());
    for (const uint64_t id : ids) text += Count(id);
    return text + Absent() + Big(type, 4) + Count(0) + Offset(begin);
  }
};

model::Result<Header> Parse(const std::string& text) {
  return ReadHeader(test::MemoryStore{{"", text}}, "");
}

class NetCdf3HeaderTest : public ::testing::TestWithParam<int> {
 protected:
  const Builder b_{GetParam()};
};

TEST_P(NetCdf3HeaderTest, EmptyFileHasNothing) {
  const auto header = Parse(b_.Magic() + b_.Absent() + b_.Absent() + b_.Absent());
  ASSERT_THAT(header, test::IsOk());
  EXPECT_EQ(header->version, GetParam());
  EXPECT_TRUE(header->variables.empty());
  EXPECT_FALSE(header->record_dimension);
}

TEST_P(NetCdf3HeaderTest, RecordsAreAsLongAsTheirPaddedVariables) {
  const auto header = Parse(b_.Magic(7) + b_.List(10, 2) + b_.Dimension("time", 0) +
                            b_.Dimension("x", 3) + b_.Absent() + b_.List(11, 2) +
                            b_.Variable("a", {0, 1}, 1, 400) + b_.Variable("b", {0}, 6, 404));
  ASSERT_THAT(header, test::IsOk());
  EXPECT_EQ(header->record_count, 7);
  EXPECT_EQ(header->record_stride, 4 + 8);
  EXPECT_EQ(header->variables[0].bytes, 3);
  EXPECT_TRUE(header->variables[0].is_record);
}

TEST_P(NetCdf3HeaderTest, OneRecordVariableAloneIsNotPadded) {
  const auto header =
      Parse(b_.Magic(7) + b_.List(10, 2) + b_.Dimension("time", 0) + b_.Dimension("x", 3) +
            b_.Absent() + b_.List(11, 1) + b_.Variable("a", {0, 1}, 1, 400));
  ASSERT_THAT(header, test::IsOk());
  EXPECT_EQ(header->record_stride, 3);
}

TEST_P(NetCdf3HeaderTest, StreamingCountsTheRecordsThatTheFileHolds) {
  std::string text = b_.Magic(UINT64_MAX) + b_.List(10, 1) + b_.Dimension("time", 0) +
                     b_.Absent() + b_.List(11, 1) + b_.Variable("a", {0}, 4, 400);
  text.resize(400 + 5 * 4 + 3);  // five records, and a part of one
  const auto header = Parse(text);
  ASSERT_THAT(header, test::IsOk());
  EXPECT_EQ(header->record_count, 5);
}

TEST_P(NetCdf3HeaderTest, EveryTruncationIsRefused) {
  const std::string text = b_.Magic(7) + b_.List(10, 1) + b_.Dimension("time", 0) +
                           b_.Absent() + b_.List(11, 1) + b_.Variable("a", {0}, 4, 400);
  ASSERT_THAT(Parse(text), test::IsOk());
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_THAT(Parse(text.substr(0, size)),
                IsError(ErrorCode::kBadInput, HasSubstr("ends at byte")))
        << size;
  }
}

TEST_P(NetCdf3HeaderTest, WrongTagIsNamed) {
  EXPECT_THAT(Parse(b_.Magic() + b_.List(11, 1) + b_.Absent() + b_.Absent()),
              IsError(ErrorCode::kBadInput, "dimensions: expected the tag 0xa, found 0xb"));
  EXPECT_THAT(Parse(b_.Magic() + b_.List(0, 1) + b_.Absent() + b_.Absent()),
              IsError(ErrorCode::kBadInput, HasSubstr("expected the tag 0xa, found 0x0")));
}

TEST_P(NetCdf3HeaderTest, CountsAreNotBelieved) {
  const uint64_t many = GetParam() == 5 ? UINT64_MAX / 2 : 0x7fffffff;
  EXPECT_THAT(Parse(b_.Magic() + b_.List(10, many) + b_.Dimension("x", 1)),
              IsError(ErrorCode::kBadInput, HasSubstr("dimensions[1]: name: the file ends")));
  EXPECT_THAT(Parse(b_.Magic() + b_.List(10, 1) + b_.Count(many)),
              IsError(ErrorCode::kBadInput, HasSubstr("dimensions[0]: name: ")));
  EXPECT_THAT(Parse(b_.Magic() + b_.Absent() + b_.List(12, 1) + b_.Name("a") + Big(6, 4) +
                    b_.Count(many)),
              IsError(ErrorCode::kBadInput, HasSubstr("attributes[0]: \"a\"")));
}

TEST_P(NetCdf3HeaderTest, DimensionThatDoesNotExistIsRefused) {
  EXPECT_THAT(Parse(b_.Magic() + b_.List(10, 1) + b_.Dimension("x", 1) + b_.Absent() +
                    b_.List(11, 1) + b_.Variable("a", {3}, 4, 400)),
              IsError(ErrorCode::kBadInput, "variables[0]: \"a\": dimension 3 of 1"));
}

TEST_P(NetCdf3HeaderTest, UnlimitedDimensionComesFirst) {
  EXPECT_THAT(
      Parse(b_.Magic() + b_.List(10, 2) + b_.Dimension("x", 1) + b_.Dimension("t", 0) +
            b_.Absent() + b_.List(11, 1) + b_.Variable("a", {0, 1}, 4, 400)),
      IsError(ErrorCode::kBadInput, HasSubstr("the unlimited dimension is not the first")));
}

TEST_P(NetCdf3HeaderTest, TwoUnlimitedDimensionsAreRefused) {
  EXPECT_THAT(Parse(b_.Magic() + b_.List(10, 2) + b_.Dimension("t", 0) + b_.Dimension("u", 0) +
                    b_.Absent() + b_.Absent()),
              IsError(ErrorCode::kBadInput, "two unlimited dimensions, \"t\" and \"u\""));
}

TEST_P(NetCdf3HeaderTest, TypeThatDoesNotExistIsRefused) {
  EXPECT_THAT(Parse(b_.Magic() + b_.Absent() + b_.Absent() + b_.List(11, 1) +
                    b_.Variable("a", {}, 12, 400)),
              IsError(ErrorCode::kBadInput, "variables[0]: \"a\": unknown type 12"));
}

TEST_P(NetCdf3HeaderTest, ShapeThatOverflowsIsRefused) {
  std::string dimensions = b_.List(10, 3);
  for (const char* name : {"x", "y", "z"}) dimensions += b_.Dimension(name, 0x7fffffff);
  EXPECT_THAT(Parse(b_.Magic() + dimensions + b_.Absent() + b_.List(11, 1) +
                    b_.Variable("a", {0, 1, 2}, 4, 400)),
              IsError(ErrorCode::kLimit, "variables[0]: \"a\": too many values"));
}

TEST_P(NetCdf3HeaderTest, RankIsLimited) {
  EXPECT_THAT(Parse(b_.Magic() + b_.List(10, 1) + b_.Dimension("x", 1) + b_.Absent() +
                    b_.List(11, 1) + b_.Variable("a", std::vector<uint64_t>(1025, 0), 4, 400)),
              IsError(ErrorCode::kLimit, HasSubstr("1025 dimensions, at most 1024")));
}

TEST_P(NetCdf3HeaderTest, NamesEndAtTheirFirstNul) {
  using namespace std::string_literals;
  const std::string attribute = b_.Name("att\0\0"s) + Big(2, 4) + b_.Count(2) + "hi\0\0"s;
  const auto header =
      Parse(b_.Magic() + b_.List(10, 2) + b_.Dimension("x\0\0"s, 2) + b_.Dimension("y", 3) +
            b_.List(12, 1) + attribute + b_.List(11, 1) + b_.Variable("v\0junk"s, {0}, 4, 200));
  ASSERT_THAT(header, test::IsOk());
  EXPECT_EQ(header->dimensions[0].name, "x");
  EXPECT_EQ(header->attributes[0].name, "att");
  EXPECT_EQ(header->variables[0].name, "v");
  EXPECT_EQ(header->cut_names, 3);
  EXPECT_EQ(header->first_cut_name, "x");
  EXPECT_THAT(
      Parse(b_.Magic() + b_.List(10, 1) + b_.Dimension("\0\0"s, 2) + b_.Absent() + b_.Absent()),
      IsError(ErrorCode::kBadInput, HasSubstr("an empty name")));
}

TEST_P(NetCdf3HeaderTest, EmptyNameIsRefused) {
  EXPECT_THAT(Parse(b_.Magic() + b_.List(10, 1) + b_.Dimension("", 1)),
              IsError(ErrorCode::kBadInput, HasSubstr("an empty name")));
}

INSTANTIATE_TEST_SUITE_P(Versions, NetCdf3HeaderTest, ::testing::Values(1, 2, 5));

TEST(NetCdf3MagicTest, OtherFilesAndVersionsAreNamed) {
  EXPECT_THAT(Parse("\x89HDF\r\n\x1a\n    "),
              IsError(ErrorCode::kBadInput, HasSubstr("does not begin with CDF")));
  EXPECT_THAT(Parse(std::string("CDF\3\0\0\0\0", 8)),
              IsError(ErrorCode::kBadInput, "netCDF classic version 3, expected 1, 2 or 5"));
}

TEST(NetCdf3MagicTest, HeaderThatIsTooLongToKeepIsRefused) {
  const Builder b;
  const uint64_t size = 17 << 20;
  EXPECT_THAT(Parse(b.Magic() + b.Absent() + b.List(12, 1) + b.Name("a") + Big(1, 4) +
                    b.Count(size) + std::string(size, 'x')),
              IsError(ErrorCode::kLimit, HasSubstr("a header of more than")));
}

}  // namespace
}  // namespace ndlfs::backends::netcdf3
