// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "backends/format/zarr/data_type.h"
#include "model/ndl/ndl_writer.h"
#include "tests/support/result.h"

namespace ndlfs::backends::zarr {
namespace {

using model::Datatype;
using model::ErrorCode;
using test::IsError;
using ::testing::HasSubstr;

model::Result<Datatype> Parse(std::string_view json) {
  return ParseDataType(ParseJson(json).value());
}

// "type of N bytes"
std::string Describe(std::string_view json) {
  const auto type = Parse(json);
  if (!type) return "error: " + type.error().message();
  return fmt::format("{} of {}", model::WriteFlow(*type), type->size());
}

TEST(ZarrDataTypeTest, CoreTypes) {
  EXPECT_EQ(Parse(R"("bool")").value(), Datatype::Bool());
  EXPECT_EQ(Describe(R"("int8")"), "int8 of 1");
  EXPECT_EQ(Describe(R"("int64")"), "int64 of 8");
  EXPECT_EQ(Describe(R"("uint16")"), "uint16 of 2");
  EXPECT_EQ(Describe(R"("float16")"), "float16 of 2");
  EXPECT_EQ(Describe(R"("float32")"), "float32 of 4");
  EXPECT_EQ(Describe(R"("float64")"), "float64 of 8");
  EXPECT_TRUE(Parse(R"("complex64")")->is_complex());
  EXPECT_EQ(Parse(R"("complex64")")->size(), 8u);
  EXPECT_EQ(Parse(R"("complex128")")->size(), 16u);
  EXPECT_EQ(Describe(R"("r24")"), "{opaque: {size: 3}} of 3");
}

TEST(ZarrDataTypeTest, ANameMayBeAnObject) {
  EXPECT_EQ(Describe(R"({"name":"int32"})"), "int32 of 4");
  EXPECT_EQ(Describe(R"({"name":"int32","configuration":{}})"), "int32 of 4");
  EXPECT_EQ(Describe(R"({"name":"int32","must_understand":true})"), "int32 of 4");
}

TEST(ZarrDataTypeTest, ExtensionTypes) {
  EXPECT_EQ(Describe(R"("bfloat16")"), "bfloat16 of 2");
  EXPECT_EQ(Describe(R"("float8_e4m3fn")"), "float8_e4m3fn of 1");
  EXPECT_EQ(Describe(R"("complex_bfloat16")"),
            "{compound: [{r: bfloat16}, {i: bfloat16}]} of 4");
  EXPECT_TRUE(Parse(R"("complex_float64")")->is_complex());
  EXPECT_FALSE(Parse(R"("string")")->is_fixed_size());
  EXPECT_EQ(Parse(R"("string")")->charset(), model::Charset::kUtf8);
  EXPECT_EQ(Parse(R"("bytes")")->charset(), model::Charset::kLatin1);
  EXPECT_EQ(Parse(R"("variable_length_bytes")")->charset(), model::Charset::kLatin1);
  const auto utf32 =
      Parse(R"({"name":"fixed_length_utf32","configuration":{"length_bytes":16}})");
  EXPECT_EQ(utf32->charset(), model::Charset::kUtf32);
  EXPECT_EQ(utf32->size(), 16u);
  const auto ascii =
      Parse(R"({"name":"null_terminated_bytes","configuration":{"length_bytes":5}})");
  EXPECT_EQ(ascii->charset(), model::Charset::kAscii);
  EXPECT_EQ(ascii->size(), 5u);
  EXPECT_EQ(Describe(R"({"name":"raw_bytes","configuration":{"length_bytes":7}})"),
            "{opaque: {size: 7}} of 7");
}

TEST(ZarrDataTypeTest, Times) {
  const auto datetime =
      Parse(R"({"name":"numpy.datetime64","configuration":{"unit":"ns","scale_factor":10}})");
  ASSERT_THAT(datetime, test::IsOk());
  EXPECT_EQ(datetime->time(), (model::TimeUnit{"ns", 10, false}));
  const auto delta = Parse(
      "{\"name\":\"numpy.timedelta64\",\"configuration\":{\"unit\":\"\u03bcs\","
      "\"scale_factor\":1}}");
  ASSERT_THAT(delta, test::IsOk());
  EXPECT_EQ(delta->time(), (model::TimeUnit{"us", 1, true}));
}

constexpr std::string_view kNested = R"({"name":"struct","configuration":{"fields":[
    {"name":"id","data_type":"uint8"},
    {"name":"point","data_type":{"name":"struct","configuration":{"fields":[
        {"name":"x","data_type":{"name":"float32"}},{"name":"y","data_type":"float64"}]}}},
    {"name":"when","data_type":{"name":"numpy.datetime64",
        "configuration":{"unit":"s","scale_factor":1}}}]}})";

TEST(ZarrDataTypeTest, StructsArePacked) {
  const auto type = Parse(kNested);
  ASSERT_THAT(type, test::IsOk());
  EXPECT_EQ(type->size(), 21u);
  ASSERT_EQ(type->members().size(), 3u);
  EXPECT_EQ(type->members()[1].offset, 1u);
  EXPECT_EQ(type->members()[1].type.members()[1].offset, 4u);
  EXPECT_EQ(type->members()[2].offset, 13u);
  EXPECT_EQ(type->members()[2].type.time()->unit, "s");
}

TEST(ZarrDataTypeTest, TheOlderFormOfStructsIsTheSame) {
  EXPECT_EQ(Parse(R"({"name":"structured","configuration":{"fields":[
                ["id","uint8"],["point",{"name":"structured","configuration":{"fields":[
                ["x","float32"],["y","float64"]]}}],
                ["when",{"name":"numpy.datetime64",
                         "configuration":{"unit":"s","scale_factor":1}}]]}})")
                .value(),
            Parse(kNested).value());
}

TEST(ZarrDataTypeTest, UnknownTypesAreUnsupported) {
  for (const char* name : {"float256", "optional", "random", "r", "r8x", "int4096", "INT32",
                           "float128", "complex_int32", "<f4", ""}) {
    EXPECT_THAT(
        Parse(Json(name).dump()),
        IsError(ErrorCode::kUnsupported, HasSubstr("unknown data type " + model::Quote(name))));
  }
}

TEST(ZarrDataTypeTest, RefusesWhatBreaksTheRules) {
  const std::pair<const char*, const char*> kCases[] = {
      {"3", "expected a name or an object with a name, found the number 3"},
      {"{}", "\"name\" is missing"},
      {R"({"name":3})", "name: expected a string, found the number 3"},
      {R"({"name":"int8","configuration":[]})", "configuration: expected an object"},
      {R"({"name":"int8","configuration":{"a":1}})", "unknown member \"a\""},
      {R"({"name":"int8","extra":1})", "unknown member \"extra\""},
      {R"({"name":"int8","must_understand":false})", "\"must_understand\": false"},
      {R"({"name":"int8","must_understand":1})", "must_understand: expected true or false"},
      {R"("r12")", "no multiple of 8"},
      {R"("r0")", "elements of 0 bytes"},
      {R"({"name":"raw_bytes"})", "\"length_bytes\" is missing"},
      {R"({"name":"raw_bytes","configuration":{"length_bytes":0}})", "elements of 0 bytes"},
      {R"({"name":"raw_bytes","configuration":{"length_bytes":-1}})", "non-negative integer"},
      {R"({"name":"raw_bytes","configuration":{"length_bytes":1.5}})", "non-negative integer"},
      {R"({"name":"fixed_length_utf32","configuration":{"length_bytes":6}})",
       "6 is no multiple of 4"},
      {R"({"name":"numpy.datetime64","configuration":{"unit":"ns"}})",
       "\"scale_factor\" is missing"},
      {R"({"name":"numpy.datetime64","configuration":{"unit":"century","scale_factor":1}})",
       "unit: expected a unit of time, found the string \"century\""},
      {R"({"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":0}})",
       "scale_factor: expected an integer from 1"},
      {R"({"name":"struct"})", "\"fields\" is missing"},
      {R"({"name":"struct","configuration":{"fields":[]}})", "fields: expected a list"},
      {R"({"name":"struct","configuration":{"fields":{}}})", "fields: expected a list"},
      {R"({"name":"struct","configuration":{"fields":[3]}})", "fields[0]: expected an object"},
      {R"({"name":"struct","configuration":{"fields":[["x"]]}})", "fields[0]: expected"},
      {R"({"name":"struct","configuration":{"fields":[{"name":"x"}]}})",
       "\"data_type\" is missing"},
      {R"({"name":"struct","configuration":{"fields":[["","int8"]]}})", "expected a name"},
      {R"({"name":"struct","configuration":{"fields":[["x","int8"],["x","int8"]]}})",
       "\"x\" occurs twice"},
      {R"({"name":"struct","configuration":{"fields":[["x","string"]]}})",
       "fields[0]: x: a field of variable length"},
      {R"({"name":"struct","configuration":{"fields":[
          {"name":"x","data_type":"int8","shape":[3]}]}})",
       "expected the members name and data_type"},
  };
  for (const auto& [json, message] : kCases) {
    EXPECT_THAT(Parse(json), IsError(ErrorCode::kBadInput, HasSubstr(message))) << json;
  }
}

TEST(ZarrDataTypeTest, RefusesElementsThatAreTooLarge) {
  EXPECT_THAT(Parse(R"("r17179869184")"), IsError(ErrorCode::kLimit, HasSubstr("2147483648")));
  EXPECT_THAT(Parse(R"({"name":"struct","configuration":{"fields":[
                  ["a",{"name":"raw_bytes","configuration":{"length_bytes":2000000000}}],
                  ["b",{"name":"raw_bytes","configuration":{"length_bytes":2000000000}}]]}})"),
              IsError(ErrorCode::kLimit, HasSubstr("4000000000")));
}

TEST(ZarrDataTypeTest, UnknownMemberTypesNameTheMember) {
  EXPECT_THAT(Parse(R"({"name":"struct","configuration":{"fields":[["x","int128"]]}})"),
              IsError(ErrorCode::kUnsupported,
                      HasSubstr("fields[0]: x: unknown data type \"int128\"")));
}

TEST(ZarrDataTypeTest, RefusesMembersOfLessThanAByte) {
  for (const std::string name : {"int2", "int4", "uint2", "uint4"}) {
    EXPECT_THAT(
        Parse(
            R"({"name":"struct","configuration":{"fields":[{"name":"x","data_type":{"name":")" +
            name + R"("}}]}})"),
        IsError(ErrorCode::kUnsupported,
                HasSubstr("fields[0]: x: " + name + " is not supported as a member")));
  }
}

}  // namespace
}  // namespace ndlfs::backends::zarr
