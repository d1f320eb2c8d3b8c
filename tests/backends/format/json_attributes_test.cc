// SPDX-License-Identifier: MIT
#include "backends/format/json_attributes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "model/ndl/ndl_writer.h"
#include "tests/support/result.h"

namespace ndlfs::backends {
namespace {

using ::testing::HasSubstr;

// "type [shape] value" of the attribute that a JSON text makes.
std::string Describe(std::string_view json) {
  const model::Attribute attribute = MakeAttribute("a", ParseJson(json).value());
  std::string text = model::WriteFlow(attribute.type) + " [";
  for (const uint64_t extent : attribute.shape) text += std::to_string(extent);
  text += "] " + model::WriteFlow(attribute.value, attribute.type);
  return attribute.json ? "json " + *attribute.value.text() : text;
}

TEST(JsonAttributeTest, IntegersAreOfTheSmallestTypeOfThree) {
  EXPECT_EQ(Describe("10"), "int32 [] 10");
  EXPECT_EQ(Describe("2147483647"), "int32 [] 2147483647");
  EXPECT_EQ(Describe("-2147483648"), "int32 [] -2147483648");
  EXPECT_EQ(Describe("2147483648"), "int64 [] 2147483648");
  EXPECT_EQ(Describe("-2147483649"), "int64 [] -2147483649");
  EXPECT_EQ(Describe("9223372036854775807"), "int64 [] 9223372036854775807");
  EXPECT_EQ(Describe("9223372036854775808"), "uint64 [] 9223372036854775808");
  EXPECT_EQ(Describe("18446744073709551615"), "uint64 [] 18446744073709551615");
}

TEST(JsonAttributeTest, OtherScalars) {
  EXPECT_EQ(Describe("1.5"), "float64 [] 1.5");
  EXPECT_EQ(Describe("1.0"), "float64 [] 1.0");
  EXPECT_EQ(Describe("NaN"), "float64 [] .nan");
  EXPECT_EQ(Describe("-Infinity"), "float64 [] -.inf");
  EXPECT_EQ(Describe(R"("K")"), "string [] K");
  EXPECT_EQ(MakeAttribute("a", true).type, model::Datatype::Bool());
  EXPECT_EQ(MakeAttribute("a", true).value, model::Value("TRUE"));
  EXPECT_EQ(MakeAttribute("a", false).value, model::Value("FALSE"));
}

TEST(JsonAttributeTest, ListsOfOneKind) {
  EXPECT_EQ(Describe("[1, 2, 3]"), "int32 [3] [1, 2, 3]");
  EXPECT_EQ(Describe("[1, 3000000000]"), "int64 [2] [1, 3000000000]");
  EXPECT_EQ(Describe("[0, 18446744073709551615]"), "uint64 [2] [0, 18446744073709551615]");
  EXPECT_EQ(Describe("[1, 0.5]"), "float64 [2] [1.0, 0.5]");
  EXPECT_EQ(Describe("[0.5, NaN, 2]"), "float64 [3] [0.5, .nan, 2.0]");
  EXPECT_EQ(Describe(R"(["lat", "lon"])"), "string [2] [lat, lon]");
  const model::Attribute flags = MakeAttribute("a", ParseJson("[true,false]").value());
  EXPECT_EQ(flags.type, model::Datatype::Bool());
  EXPECT_EQ(flags.value, model::Value(model::Value::List{"TRUE", "FALSE"}));
}

// Lists of `count` times `item`.
std::string Repeated(std::string_view item, int count) {
  std::string list = "[";
  for (int i = 0; i < count; ++i) (list += item) += ',';
  return (list += item) += ']';
}

// What is left out takes no memory; what comes before and behind it is there.
TEST(JsonAttributeTest, AttributesThatWouldTakeTooMuchMemoryAreLeftOut) {
  for (const std::string& bomb :
       {Repeated("1", 200'000), Repeated("[]", 200'000), Repeated("{}", 1'000'000),
        Repeated("\"\"", 200'000), '"' + std::string(5 << 20, 'x') + '"'}) {
    std::optional<model::Error> left_out;
    const auto json = ParseAttributeObject(
        R"({"units": "K", "bomb": )" + bomb + R"(, "last": 1})", &left_out);
    ASSERT_THAT(json, test::IsOk());
    const auto attributes = MakeAttributes(*json, &left_out);
    ASSERT_THAT(attributes, test::IsOk());
    ASSERT_EQ(attributes->size(), 2u);
    EXPECT_EQ((*attributes)[0].name, "units");
    EXPECT_EQ((*attributes)[1].name, "last");
    ASSERT_TRUE(left_out);
    EXPECT_THAT(left_out->message(), HasSubstr("attribute \"bomb\" is not shown"));
  }
  std::string many = "{";
  for (int i = 0; i < 100'000; ++i) many += "\"" + std::to_string(i) + "\":1,";
  EXPECT_THAT(ParseAttributeObject(many + "\"last\":1}"),
              test::IsError(model::ErrorCode::kLimit, HasSubstr("members")));
}

TEST(JsonAttributeTest, LargeAttributesOfSoundDataAreShown) {
  const std::string text = R"({"history": ")" + std::string(2 << 20, 'x') +
                           R"(", "wavelengths": )" + Repeated("1.5", 10'000) + "}";
  std::optional<model::Error> left_out;
  const auto attributes =
      MakeAttributes(ParseAttributeObject(text, &left_out).value(), &left_out);
  ASSERT_THAT(attributes, test::IsOk());
  EXPECT_EQ(attributes->size(), 2u);
  EXPECT_FALSE(left_out);
}

TEST(JsonAttributeTest, NumbersThatFloat64DoesNotHoldKeepTheirDigits) {
  EXPECT_EQ(Describe("[9007199254740992, 0.5]"), "float64 [2] [9007199254740992.0, 0.5]");
  EXPECT_EQ(Describe("[9007199254740993, 0.5]"), "json [9007199254740993,0.5]");
  EXPECT_EQ(Describe("[0.5, 18446744073709551615]"), "json [0.5,18446744073709551615]");
  EXPECT_EQ(Describe("12345678901234567890123"), "json 12345678901234567890123");
  EXPECT_EQ(Describe("[1, -12345678901234567890123]"), "json [1,-12345678901234567890123]");
  EXPECT_EQ(Describe("100000000000000000000"), "float64 [] 1.0e+20");  // exactly
}

TEST(JsonAttributeTest, AllElseIsItsText) {
  EXPECT_EQ(Describe("null"), "json null");
  EXPECT_EQ(Describe("[]"), "json []");
  EXPECT_EQ(Describe("[1, \"a\"]"), R"(json [1,"a"])");
  EXPECT_EQ(Describe("[1, true]"), "json [1,true]");
  EXPECT_EQ(Describe("[[1, 2], [3, 4]]"), "json [[1,2],[3,4]]");
  EXPECT_EQ(Describe("[null]"), "json [null]");
  EXPECT_EQ(Describe(R"({"b": 1, "a": {"c": NaN}})"), R"(json {"b":1,"a":{"c":NaN}})");
  EXPECT_EQ(Describe("[-1, 18446744073709551615]"), "json [-1,18446744073709551615]");
}

TEST(JsonAttributeTest, KeepsTheOrderOfMembers) {
  const auto attributes = MakeAttributes(ParseJson(R"({"z":1,"a":2,"m":3})").value());
  ASSERT_THAT(attributes, test::IsOk());
  ASSERT_EQ(attributes->size(), 3u);
  EXPECT_EQ((*attributes)[0].name, "z");
  EXPECT_EQ((*attributes)[1].name, "a");
  EXPECT_EQ((*attributes)[2].name, "m");
}

TEST(JsonAttributeTest, RefusesWhatIsNoObject) {
  EXPECT_THAT(MakeAttributes(Json(3)),
              test::IsError(model::ErrorCode::kBadInput,
                            HasSubstr("attributes: expected an object, found the number 3")));
}

TEST(JsonToValueTest, KeepsStructure) {
  const model::Value value =
      JsonToValue(ParseJson(R"({"a":[1,null,{"b":"c"}],"d":true,"e":0.5})").value());
  using Value = model::Value;
  EXPECT_EQ(value, Value(Value::Map{
                       {"a", Value::List{model::WideInt{1}, Value(), Value::Map{{"b", "c"}}}},
                       {"d", "TRUE"},
                       {"e", 0.5}}));
}

}  // namespace
}  // namespace ndlfs::backends
