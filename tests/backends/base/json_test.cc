// SPDX-License-Identifier: MIT
#include "backends/base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace ndlfs::backends {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(std::string_view text) {
  const auto json = ParseJson(text);
  if (json) return "accepted: " + json->dump();
  EXPECT_EQ(json.error().code(), model::ErrorCode::kBadInput);
  return json.error().message();
}

TEST(ParseJsonTest, KeepsTheOrderOfKeys) {
  EXPECT_EQ(ParseJson(R"({"z": 1, "a": {"y": [], "b": null}})")->dump(),
            R"({"z":1,"a":{"y":[],"b":null}})");
}

TEST(ParseJsonTest, ReadsEveryKindOfScalar) {
  EXPECT_EQ(
      ParseJson(R"([true, false, null, -3, 18446744073709551615, 1.5e3, "\u00e9"])")->dump(),
      "[true,false,null,-3,18446744073709551615,1500.0,\"\xc3\xa9\"]");
  EXPECT_EQ(*ParseJson(" 7 "), Json(7));
}

TEST(ParseJsonTest, BareNonFiniteWordsAreNumbers) {
  const Json json = *ParseJson(R"({"a":NaN,"b":[Infinity,-Infinity , 1, "NaN"]})");
  EXPECT_TRUE(std::isnan(json["a"].get<double>()));
  EXPECT_EQ(json["b"][0], std::numeric_limits<double>::infinity());
  EXPECT_EQ(json["b"][1], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(CompactJson(json), R"({"a":NaN,"b":[Infinity,-Infinity,1,"NaN"]})");
  EXPECT_EQ(DescribeJson(json["a"]), "the number NaN");
}

TEST(ParseJsonTest, NonFiniteWordsInsideStringsStay) {
  EXPECT_EQ(ParseJson(R"({"NaN \" Infinity":"a \\"})")->dump(),
            R"({"NaN \" Infinity":"a \\"})");
}

TEST(ParseJsonTest, LastOfDuplicateKeysWins) {
  EXPECT_EQ(ParseJson(R"({"a":1,"b":2,"a":{"c":3,"c":4},"d":5,"b":6})")->dump(),
            R"({"a":{"c":4},"b":6,"d":5})");
}

TEST(ParseJsonTest, AHundredThousandMembersAreReadInLinearTime) {
  std::string text = "{";
  for (int i = 0; i < 100000; ++i) text += fmt::format("\"group/array{}/.zarray\":{},", i, i);
  text += "\"end\":0}";
  const auto json = ParseJson(text);
  ASSERT_TRUE(json);
  EXPECT_EQ(json->size(), 100001u);
}

TEST(ParseJsonTest, RefusesMoreThan128Levels) {
  const auto nested = [](int levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  EXPECT_TRUE(ParseJson(nested(128)));
  EXPECT_THAT(ErrorOf(nested(129)), HasSubstr("nested more than 128 levels deep"));
  EXPECT_THAT(ErrorOf(std::string(1 << 20, '[')), HasSubstr("128 levels"));
}

TEST(ParseJsonTest, SaysLineAndColumnOfWhatIsWrong) {
  EXPECT_THAT(ErrorOf("{\n \"a\": fast}"), HasSubstr("not JSON: parse error at line 2"));
}

TEST(ParseJsonTest, RefusesWhatIsNotJson) {
  for (const std::string_view text :
       {"", " ", "{", "{\"a\":1}}", "[1,]", "{'a':1}", "nan", "NaN NaN", "1NaN", "-NaN", "NaN5",
        "\"\xff\"", "[1e999]", "\"a\nb\"", "// comment\n1", "-", "\"\\ud800\"", "\"abc",
        "\"abc\\"}) {
    EXPECT_THAT(ErrorOf(text), HasSubstr("not JSON: ")) << text;
  }
}

TEST(ParseJsonTest, ErrorIsOneLine) {
  EXPECT_THAT(ErrorOf("\"a\nb"), ::testing::Not(HasSubstr("\n")));
}

TEST(ParseJsonTest, ErrorDoesNotQuoteANumberOfAThousandDigits) {
  const std::string error = ErrorOf("{\"zarr_format\": " + std::string(1000, '9') + "}");
  EXPECT_THAT(error, HasSubstr("number overflow"));
  EXPECT_LE(error.size(), 250);
}

TEST(RequireMemberTest, NamesTheKey) {
  const Json object = *ParseJson(R"({"shape":[1]})");
  EXPECT_EQ((*RequireMember(object, "shape"))->dump(), "[1]");
  EXPECT_EQ(RequireMember(object, "chunks").error().message(), "\"chunks\" is missing");
  EXPECT_EQ(RequireMember(Json("x"), "chunks").error().message(),
            "expected an object, found the string \"x\"");
}

TEST(JsonToSizeTest, TakesOnlyNonNegativeIntegersBelow2To63) {
  EXPECT_EQ(*JsonToSize(*ParseJson("0")), 0u);
  EXPECT_EQ(*JsonToSize(*ParseJson("9223372036854775807")), 9223372036854775807u);
  for (const char* text : {"-1", "9223372036854775808", "1.0", "\"1\"", "null", "true", "1e3",
                           "99999999999999999999"}) {
    const auto size = JsonToSize(*ParseJson(text));
    ASSERT_FALSE(size) << text;
    EXPECT_THAT(size.error().message(),
                HasSubstr("expected a non-negative integer below 2^63"));
  }
}

TEST(JsonToSizesTest, NamesTheItemThatIsWrong) {
  EXPECT_THAT(*JsonToSizes(*ParseJson("[3,0]")), ::testing::ElementsAre(3, 0));
  EXPECT_THAT(
      JsonToSizes(*ParseJson("[3,-1]")).error().message(),
      HasSubstr("[1]: expected a non-negative integer below 2^63, found the number -1"));
  EXPECT_THAT(JsonToSizes(*ParseJson("{}")).error().message(),
              HasSubstr("expected a list of integers, found an object"));
}

TEST(JsonToSizesTest, RefusesMoreThan64) {
  EXPECT_TRUE(JsonToSizes(Json(std::vector<int>(64, 1))));
  EXPECT_THAT(JsonToSizes(Json(std::vector<int>(65, 1))).error().message(),
              HasSubstr("a list of 65 integers"));
}

TEST(DescribeJsonTest, SaysKindAndValue) {
  EXPECT_EQ(DescribeJson("fast"), "the string \"fast\"");
  EXPECT_EQ(DescribeJson(3.5), "the number 3.5");
  EXPECT_EQ(DescribeJson(nullptr), "null");
  EXPECT_EQ(DescribeJson(false), "false");
  EXPECT_EQ(DescribeJson(Json::array({1, 2})), "a list of 2");
  EXPECT_EQ(DescribeJson(Json::object()), "an object");
}

}  // namespace
}  // namespace ndlfs::backends
