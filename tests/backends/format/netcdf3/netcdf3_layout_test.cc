// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backends/format/netcdf3/layout.h"
#include "tests/support/memory_store.h"
#include "tests/support/result.h"

namespace ndlfs::backends::netcdf3 {
namespace {

using model::ErrorCode;
using test::IsError;
using ::testing::HasSubstr;

constexpr uint64_t kGiB = uint64_t{1} << 30;

Header Variables(std::vector<Dimension> dimensions, std::vector<Variable> variables) {
  Header header;
  header.dimensions = std::move(dimensions);
  header.variables = std::move(variables);
  return header;
}

Variable Of(std::string name, std::vector<uint64_t> dimensions, Type type) {
  Variable variable;
  variable.name = std::move(name);
  variable.dimensions = std::move(dimensions);
  variable.type = type;
  return variable;
}

// What is written is read back; the file has all the bytes it promises.
void CheckReadsBack(const Header& header, std::string text) {
  ASSERT_EQ(text.size(), header.header_bytes);
  text.resize(header.file_bytes);
  const auto read = ReadHeader(test::MemoryStore{{"", text}}, "");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->version, header.version);
  EXPECT_EQ(read->header_bytes, header.header_bytes);
  EXPECT_EQ(read->record_dimension, header.record_dimension);
  ASSERT_EQ(read->dimensions.size(), header.dimensions.size());
  for (size_t i = 0; i < header.dimensions.size(); ++i) {
    EXPECT_EQ(read->dimensions[i].name, header.dimensions[i].name);
    EXPECT_EQ(read->dimensions[i].size, header.dimensions[i].size);
  }
  ASSERT_EQ(read->variables.size(), header.variables.size());
  for (size_t i = 0; i < header.variables.size(); ++i) {
    const Variable& is = read->variables[i];
    const Variable& was = header.variables[i];
    EXPECT_EQ(is.name, was.name);
    EXPECT_EQ(is.type, was.type);
    EXPECT_EQ(is.dimensions, was.dimensions);
    EXPECT_EQ(is.begin, was.begin);
    EXPECT_EQ(is.bytes, was.bytes);
    EXPECT_EQ(is.is_record, was.is_record);
    ASSERT_EQ(is.attributes.size(), was.attributes.size());
    for (size_t a = 0; a < is.attributes.size(); ++a) {
      EXPECT_EQ(is.attributes[a].name, was.attributes[a].name);
      EXPECT_EQ(is.attributes[a].values, was.attributes[a].values);
    }
  }
}

TEST(NetCdf3LayoutTest, NothingIsTheShortestFile) {
  Header header;
  const auto text = LayOut(header);
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, std::string("CDF\1", 4) + std::string(28, '\0'));
  CheckReadsBack(header, *text);
}

TEST(NetCdf3LayoutTest, SmallFilesAreCdf1AndReadBack) {
  Header header = Variables(
      {{"x", 3}, {"y", 5}},
      {Of("a", {0, 1}, Type::kShort), Of("b", {}, Type::kDouble), Of("c", {1}, Type::kByte)});
  header.attributes = {{"title", Type::kChar, 5, "hello"}};
  header.variables[2].attributes = {{"scale", Type::kFloat, 1, std::string("\x3f\x80\0\0", 4)}};
  const auto text = LayOut(header);
  ASSERT_TRUE(text);
  EXPECT_EQ(header.version, 1);
  EXPECT_EQ(header.variables[1].begin, header.variables[0].begin + 32);  // 30 and padding
  CheckReadsBack(header, *text);
}

TEST(NetCdf3LayoutTest, TwoGiBAreCdf2) {
  Header header =
      Variables({{"x", kGiB}}, {Of("a", {0}, Type::kByte), Of("b", {0}, Type::kByte)});
  ASSERT_TRUE(LayOut(header));
  EXPECT_EQ(header.version, 2);
  EXPECT_EQ(header.file_bytes, header.variables[0].begin + 2 * kGiB);
}

TEST(NetCdf3LayoutTest, LargeVariablesShareNoBlockOfReaders) {
  constexpr uint64_t kLarge = uint64_t{1} << 20;
  Header header = Variables({{"x", kLarge + 5}, {"y", 5}},
                            {Of("small", {1}, Type::kByte), Of("large", {0}, Type::kByte),
                             Of("larger", {0}, Type::kShort), Of("last", {1}, Type::kByte),
                             Of("next", {1}, Type::kByte)});
  const auto text = LayOut(header);
  ASSERT_TRUE(text);
  const auto& variables = header.variables;
  EXPECT_EQ(variables[0].begin, kReadBlock) << "nor has any the block of the header";
  EXPECT_EQ(variables[1].begin, 2 * kReadBlock);
  EXPECT_EQ(variables[2].begin, kLarge + 3 * kReadBlock);
  EXPECT_EQ(variables[3].begin, 3 * kLarge + 4 * kReadBlock);
  EXPECT_EQ(variables[4].begin, variables[3].begin + 8);
  EXPECT_EQ(header.file_bytes, variables[4].begin + 8);
  CheckReadsBack(header, *text);
}

TEST(NetCdf3LayoutTest, OnlyTheLastVariableOfCdf2PassesFourGiB) {
  Header last =
      Variables({{"x", kGiB}}, {Of("a", {0}, Type::kByte), Of("b", {0}, Type::kDouble)});
  ASSERT_TRUE(LayOut(last));
  EXPECT_EQ(last.version, 2);
  Header first =
      Variables({{"x", kGiB}}, {Of("a", {0}, Type::kDouble), Of("b", {0}, Type::kByte)});
  ASSERT_TRUE(LayOut(first));
  EXPECT_EQ(first.version, 5);
}

// netCDF-C refuses files that break these rules, although nothing of a record is in them.
TEST(NetCdf3LayoutTest, LargeVariablesAndRecordsAreApart) {
  const std::vector<Dimension> dimensions = {{"time", 0}, {"x", kGiB}, {"y", 5}};
  const auto version_of = [&](std::vector<Variable> variables) {
    Header header = Variables(dimensions, std::move(variables));
    header.record_dimension = 0;
    EXPECT_THAT(LayOut(header), test::IsOk());
    return header.version;
  };
  const Variable large = Of("large", {1, 2}, Type::kByte);
  const Variable large_records = Of("large_records", {0, 1, 2}, Type::kByte);
  const Variable records = Of("records", {0, 2}, Type::kByte);
  EXPECT_EQ(version_of({large}), 2);
  EXPECT_EQ(version_of({large, records}), 5);
  EXPECT_EQ(version_of({records, large_records}), 2);
  EXPECT_EQ(version_of({large_records, records}), 5);
  EXPECT_EQ(version_of({Of("two_gib", {0, 1}, Type::kShort)}), 2);
}

TEST(NetCdf3LayoutTest, LongDimensionsAreCdf5) {
  Header header = Variables({{"x", uint64_t{1} << 31}}, {Of("a", {0}, Type::kByte)});
  ASSERT_TRUE(LayOut(header));
  EXPECT_EQ(header.version, 5);
}

TEST(NetCdf3LayoutTest, UnsignedTypesAndInt64AreCdf5) {
  for (const Type type :
       {Type::kUByte, Type::kUShort, Type::kUInt, Type::kInt64, Type::kUInt64}) {
    Header variable = Variables({{"x", 3}}, {Of("a", {0}, type)});
    const auto text = LayOut(variable);
    ASSERT_TRUE(text);
    EXPECT_EQ(variable.version, 5);
    CheckReadsBack(variable, *text);
    Header attribute;
    attribute.attributes = {{"n", type, 1, std::string(SizeOf(type), '\1')}};
    ASSERT_TRUE(LayOut(attribute));
    EXPECT_EQ(attribute.version, 5);
  }
}

TEST(NetCdf3LayoutTest, DimensionsOfNoSizeAreRecords) {
  Header header = Variables(
      {{"x", 0}, {"y", 7}},
      {Of("a", {0, 1}, Type::kInt), Of("b", {1}, Type::kInt), Of("c", {0}, Type::kShort)});
  header.record_dimension = 0;
  const auto text = LayOut(header);
  ASSERT_TRUE(text);
  EXPECT_TRUE(header.variables[0].is_record);
  EXPECT_EQ(header.file_bytes, kReadBlock + 28);
  // netCDF-C checks that each begins behind the one before.
  EXPECT_EQ(header.variables[0].begin, header.file_bytes);
  EXPECT_EQ(header.variables[2].begin, header.file_bytes + 28);
  CheckReadsBack(header, *text);
}

TEST(NetCdf3LayoutTest, SizesThatOverflowAreRefused) {
  const uint64_t huge = uint64_t{1} << 40;
  Header header = Variables({{"x", huge}}, {Of("big", {0, 0}, Type::kDouble)});
  EXPECT_THAT(LayOut(header), IsError(ErrorCode::kLimit, HasSubstr("big")));
  const uint64_t large = uint64_t{1} << 58;
  Header sum = Variables({{"x", large}}, std::vector<Variable>(3, Of("a", {0}, Type::kDouble)));
  EXPECT_THAT(LayOut(sum), IsError(ErrorCode::kLimit, HasSubstr("more than")));
}

TEST(NetCdf3LayoutTest, LargeHeadersAreRefused) {
  Header header;
  header.attributes = {{"long", Type::kChar, 65u << 20, std::string(65u << 20, 'x')}};
  EXPECT_THAT(LayOut(header), IsError(ErrorCode::kLimit, HasSubstr("header")));
}

TEST(ValidNameTest, WhatNetCdfAllowsStays) {
  for (const char* name : {"t2m", "_x", "2m temperature", "température", "a.b-c+d@e"}) {
    EXPECT_EQ(ValidName(name), name);
  }
}

TEST(ValidNameTest, OtherCharactersAreReplaced) {
  EXPECT_EQ(ValidName("a/b"), "a_b");
  EXPECT_EQ(ValidName(std::string("a\0b\n", 4)), "a_b_");
  EXPECT_EQ(ValidName("-x"), "_-x");
  EXPECT_EQ(ValidName(""), "_");
  EXPECT_EQ(ValidName("x  "), "x__");
  EXPECT_EQ(ValidName("\xe9t\xe9"), "été");
}

TEST(ValidNameTest, CharactersAreComposed) {
  EXPECT_EQ(ValidName("e\u0301te\u0301"), "\u00e9t\u00e9");
  EXPECT_EQ(ValidName("\u1112\u1161\u11ab"), "\ud55c") << "Hangul";
  EXPECT_EQ(ValidName("\u212b"), "\u00c5") << "the angstrom sign is the letter";
  EXPECT_EQ(ValidName("q\u0307\u0323"), "q\u0323\u0307") << "marks in their order";
}

TEST(ValidNameTest, LongNamesAreCutBetweenCharacters) {
  EXPECT_EQ(ValidName(std::string(300, 'a')), std::string(256, 'a'));
  EXPECT_EQ(ValidName(std::string(255, 'a') + "é"), std::string(255, 'a'));
}

}  // namespace
}  // namespace ndlfs::backends::netcdf3
