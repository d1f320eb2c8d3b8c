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

}  // namespace
}  // namespace ndlfs::backends
