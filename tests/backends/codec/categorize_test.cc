// SPDX-License-Identifier: MIT
//
// numcodecs "categorize".
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/backends/codec/variable_testing.h"

namespace ndlfs::backends {
namespace {

using model::Datatype;
using model::ErrorCode;
using ::testing::ElementsAre;

TEST(CategorizeTest, LabelsBecomeTexts) {
  const CodecChain chain = MakeZarr2(
      R"([{"id": "categorize", "labels": ["female", "male"], "dtype": "|O", "astype": "|u1"}])",
      Datatype::String(), {4});
  const auto stream = DecodeVariable(chain, FromHex("02010103").span(), {4});
  ASSERT_TRUE(stream) << stream.error().message();
  EXPECT_THAT(ElementsOf(*stream, 4),
              ElementsAre(Text("male"), Text("female"), Text("female"), Text("")));
  EXPECT_EQ(VariableFailure(chain, FromHex("020101").span(), {4}),
            "categorize: 3 bytes, expected 4");
}

TEST(CategorizeTest, ConfigurationsThatCannotBeAreRefused) {
  const auto failure = [](std::string_view configuration,
                          ErrorCode code = ErrorCode::kBadInput) {
    return MakeFailure(CodecDialect::kNumcodecs, "categorize", configuration,
                       {Datatype::String(), {1}}, code);
  };
  EXPECT_EQ(failure("{}"), "categorize: \"labels\" is missing");
  EXPECT_EQ(failure(R"({"labels": [1], "dtype": "|O"})"),
            "categorize: labels: expected strings, found the number 1");
  EXPECT_EQ(failure(R"({"labels": ["a"]})"), "categorize: dtype: \"dtype\" is missing");
  EXPECT_EQ(failure(R"({"labels": ["a"], "dtype": "<i4"})"),
            "categorize: dtype: expected a text type, found the string \"<i4\"");
  EXPECT_EQ(
      failure(R"({"labels": ["a"], "dtype": "|O", "astype": "<f4"})", ErrorCode::kUnsupported),
      "categorize: astype: labels numbered by floats");
}

TEST(CategorizeTest, GoesOnOverMoreLabelsThanItLoadsAtOnce) {
  const CodecChain chain = MakeZarr2(
      R"([{"id": "categorize", "labels": ["a", "bc", "d"], "dtype": "|O", "astype": "<u2"}])",
      Datatype::String(), {1300});
  std::string encoded;
  std::vector<std::string> expected;
  for (size_t i = 0; i < 1300; ++i) {
    encoded += static_cast<char>(i % 5);
    encoded += '\0';
    expected.push_back(Text(std::vector<std::string>{"", "a", "bc", "d", ""}[i % 5]));
  }
  const auto stream = DecodeVariable(chain, AsBytes(encoded), {1300});
  ASSERT_TRUE(stream) << stream.error().message();
  EXPECT_EQ(ElementsOf(*stream, 1300), expected);
}

TEST(CategorizeTest, LabelsOfFixedSizeAreCutOffAtACharacter) {
  const auto decode = [](std::string_view filter, const Datatype& dtype, std::string_view hex) {
    return Decode<char>(MakeZarr2(filter, dtype, {2}), FromHex(hex).span(), {2});
  };
  const auto bytes = Datatype::FixedString(2, model::Charset::kUtf8);
  const auto cut = decode(
      R"([{"id": "categorize", "labels": ["male", "xé"], "dtype": "|S2", "astype": "<u2"}])",
      bytes, "01000200");
  ASSERT_TRUE(cut) << cut.error().message();
  EXPECT_THAT(*cut, ElementsAre('m', 'a', 'x', '\0'));
  const auto none =
      decode(R"([{"id": "categorize", "labels": ["é"], "dtype": "<U1", "astype": "|u1"}])",
             Datatype::FixedString(4, model::Charset::kUtf32), "0001");
  ASSERT_TRUE(none) << none.error().message();
  EXPECT_THAT(*none, ElementsAre('\0', '\0', '\0', '\0', '\xe9', '\0', '\0', '\0'));
}

TEST(CategorizeTest, BytesThatAreNoIntegersAreCorrupt) {
  const auto codec = MakeBytesToBytes(CodecDialect::kNumcodecs, "categorize",
                                      R"({"labels": ["a"], "dtype": "|S1", "astype": "<u2"})",
                                      {Datatype::FixedString(1, model::Charset::kUtf8), {2}});
  GuardedBuffer memory(2);
  const auto failure = [&](std::string_view hex) {
    return FailureOf(codec->Decode(FromHex(hex).span(), memory.span()), ErrorCode::kCorrupt);
  };
  EXPECT_EQ(failure("010001"), "3 bytes are not a whole number of integers");
  EXPECT_EQ(failure("010001000100"), "decodes to more than expected");
  EXPECT_TRUE(memory.IsIntact());
}

TEST(CategorizeTest, TypesThatDoNotFitAreRefused) {
  const auto failure = [](std::string_view configuration, const Datatype& dtype) {
    return MakeFailure(CodecDialect::kNumcodecs, "categorize", configuration, {dtype, {1}});
  };
  EXPECT_EQ(failure(R"({"labels": "a", "dtype": "|O"})", Datatype::String()),
            "categorize: labels: expected a list, found the string \"a\"");
  EXPECT_EQ(failure(R"({"labels": ["a"], "dtype": "O"})", kInt16),
            "categorize: makes texts of variable length, not int16");
  EXPECT_EQ(failure(R"({"labels": ["a"], "dtype": "object"})", Datatype::Vlen(kInt16)),
            "categorize: makes texts of variable length, not vlen");
  EXPECT_EQ(failure(R"({"labels": ["a"], "dtype": "|S0"})", kInt16),
            "categorize: dtype: expected a text type, found the string \"|S0\"");
}

}  // namespace
}  // namespace ndlfs::backends
