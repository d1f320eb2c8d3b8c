// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "backends/base/bytes.h"
#include "backends/base/numpy_dtype.h"
#include "backends/format/zarr/data_type.h"
#include "backends/format/zarr/fill_value.h"
#include "tests/support/python.h"
#include "tests/support/result.h"

namespace ndlfs::backends::zarr {
namespace {

using model::ErrorCode;
using test::IsError;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

model::Result<FillValue> ParseV3(std::string_view type, std::string_view fill,
                                 model::ByteOrder order = model::ByteOrder::kLittle) {
  return ParseFillValueV3(ParseJson(fill).value(),
                          ParseDataType(ParseJson(type).value())->WithOrder(order));
}

std::string HexV3(std::string_view type, std::string_view fill,
                  model::ByteOrder order = model::ByteOrder::kLittle) {
  const auto parsed = ParseV3(type, fill, order);
  return parsed ? test::ToHex(AsText(parsed->element)) : "error: " + parsed.error().message();
}

model::Result<std::optional<FillValue>> ParseV2(std::string_view dtype, std::string_view fill) {
  const auto descr = NumpyDescrFromJson(ParseJson(dtype).value());
  return ParseFillValueV2(ParseJson(fill).value(), NumpyDtype(*descr).value());
}

std::string HexV2(std::string_view dtype, std::string_view fill) {
  const auto parsed = ParseV2(dtype, fill);
  if (!parsed) return "error: " + parsed.error().message();
  return *parsed ? test::ToHex(AsText((*parsed)->element)) : "none";
}

TEST(FillValueV3Test, Integers) {
  EXPECT_EQ(HexV3(R"("int16")", "-2"), "feff");
  EXPECT_EQ(HexV3(R"("uint64")", "18446744073709551615"), "ffffffffffffffff");
  EXPECT_EQ(HexV3(R"("int64")", "-9223372036854775808"), "0000000000000080");
  EXPECT_EQ(HexV3(R"("bool")", "true"), "01");
  EXPECT_EQ(HexV3(R"("bool")", "false"), "00");
}

TEST(FillValueV3Test, FloatsInEverySpelling) {
  EXPECT_EQ(HexV3(R"("float32")", "1.5"), "0000c03f");
  EXPECT_EQ(HexV3(R"("float32")", "1"), "0000803f");
  EXPECT_EQ(HexV3(R"("float32")", "0.1"), "cdcccc3d");
  EXPECT_EQ(HexV3(R"("float32")", "-0.0"), "00000080");
  EXPECT_EQ(HexV3(R"("float32")", R"("NaN")"), "0000c07f");
  EXPECT_EQ(HexV3(R"("float32")", "NaN"), "0000c07f");
  EXPECT_EQ(HexV3(R"("float32")", R"("Infinity")"), "0000807f");
  EXPECT_EQ(HexV3(R"("float32")", R"("-Infinity")"), "000080ff");
  EXPECT_EQ(HexV3(R"("float64")", R"("NaN")"), "000000000000f87f");
  EXPECT_EQ(HexV3(R"("float16")", R"("NaN")"), "007e");
  EXPECT_EQ(HexV3(R"("float16")", "1.0"), "003c");
  EXPECT_EQ(HexV3(R"("bfloat16")", "1.0"), "803f");
}

TEST(FillValueV3Test, BitsOfAFloatAreKept) {
  EXPECT_EQ(HexV3(R"("float32")", R"("0x7fc00001")"), "0100c07f");
  EXPECT_EQ(HexV3(R"("float32")", R"("0xFFA12345")"), "4523a1ff");
  EXPECT_EQ(HexV3(R"("float64")", R"("0x7ff8000000000001")"), "010000000000f87f");
  EXPECT_EQ(HexV3(R"("float16")", R"("0x7e01")"), "017e");
  EXPECT_EQ(HexV3(R"("float8_e4m3")", R"("0x7f")"), "7f");
}

TEST(FillValueTest, NumbersInQuotesAreReadWithoutThem) {
  EXPECT_EQ(HexV2(R"("|u1")", R"("7")"), "07");
  EXPECT_EQ(HexV2(R"("<i2")", R"("-2")"), "feff");
  EXPECT_EQ(HexV2(R"("<f4")", R"("1.5e0")"), "0000c03f");
  EXPECT_EQ(HexV2(R"("|b1")", R"("1")"), "01");
  EXPECT_EQ(HexV2(R"("<c8")", R"("1.5")"), "0000c03f00000000");
  EXPECT_EQ(HexV3(R"("uint64")", R"("18446744073709551615")"), "ffffffffffffffff");
  EXPECT_EQ(HexV3(R"("float64")", R"("-0.5")"), "000000000000e0bf");
  EXPECT_EQ(HexV3(R"("complex64")", R"(["1.5", 0])"), "0000c03f00000000");
  EXPECT_EQ(HexV3(R"("bool")", R"("true")"), "01");
  EXPECT_THAT(ParseV3(R"("int8")", R"("7")")->notes,
              ElementsAre("fill_value: \"7\" is read without its quotes; the specification has "
                          "no numbers in quotes"));
  EXPECT_THAT(ParseV3(R"("float32")", R"("NaN")")->notes, IsEmpty());
  EXPECT_THAT(ParseV3(R"("float32")", R"("0x7fc00001")")->notes, IsEmpty());
}

TEST(FillValueTest, WhatElseIsInQuotesIsRefused) {
  const std::string many(1'000'000, '9');
  for (const std::string& text : {std::string("x"), std::string(""), std::string("1 2"),
                                  std::string("[1]"), std::string("1e999"), many}) {
    const std::string json = '"' + text + '"';
    EXPECT_THAT(HexV3(R"("int32")", json), HasSubstr("expected an integer"));
    EXPECT_THAT(HexV2(R"("<i4")", json), HasSubstr("expected an integer"));
    EXPECT_THAT(HexV2(R"("<f8")", json), HasSubstr("expected a number"));
    EXPECT_LT(HexV2(R"("<f8")", json).size(), 300u);
  }
  EXPECT_THAT(HexV3(R"("int8")", R"("300")"), HasSubstr("300 does not fit"));
  EXPECT_THAT(HexV3(R"("int8")", R"("true")"), HasSubstr("expected an integer"));
}

TEST(FillValueTest, IntegersOfManyDigitsAreRoundedForFloats) {
  EXPECT_EQ(HexV3(R"("float64")", "12345678901234567890123"),
            HexV3(R"("float64")", "1.2345678901234567890123e22"));
}

TEST(FillValueV3Test, ZeroAndOneAreFalseAndTrue) {
  EXPECT_EQ(HexV3(R"("bool")", "0"), "00");
  EXPECT_EQ(HexV3(R"("bool")", "1"), "01");
  EXPECT_THAT(ParseV3(R"("bool")", "1")->notes,
              ElementsAre("fill_value: 1 is read as true; the specification has true and "
                          "false"));
  EXPECT_THAT(HexV3(R"("bool")", "2"), HasSubstr("expected true or false"));
}

TEST(FillValueV3Test, Complex) {
  EXPECT_EQ(HexV3(R"("complex64")", R"([1.0, "NaN"])"), "0000803f0000c07f");
  EXPECT_EQ(HexV3(R"("complex64")", R"(["0x7fc00001", "-Infinity"])"), "0100c07f000080ff");
  EXPECT_EQ(HexV3(R"("complex128")", "[0, -1]"), "0000000000000000000000000000f0bf");
}

TEST(FillValueV3Test, BytesAndText) {
  EXPECT_EQ(HexV3(R"("r24")", "[1, 2, 255]"), "0102ff");
  EXPECT_EQ(HexV3(R"("r24")", R"("AQL/")"), "0102ff");
  EXPECT_EQ(HexV3(R"({"name":"raw_bytes","configuration":{"length_bytes":3}})", R"("AQL/")"),
            "0102ff");
  EXPECT_EQ(HexV3(R"({"name":"null_terminated_bytes","configuration":{"length_bytes":5}})",
                  R"("YWJj")"),
            "6162630000");
  EXPECT_EQ(
      HexV3(R"({"name":"fixed_length_utf32","configuration":{"length_bytes":8}})", R"("é")"),
      "e900000000000000");
  EXPECT_EQ(HexV3(R"({"name":"fixed_length_utf32","configuration":{"length_bytes":8}})",
                  R"("é")", model::ByteOrder::kBig),
            "e900000000000000");
}

TEST(FillValueV3Test, VariableLengthIsAnElementOfAStream) {
  EXPECT_EQ(HexV3(R"("string")", R"("hé")"),
            "03000000"
            "68c3a9");
  EXPECT_EQ(HexV3(R"("string")", R"("")"), "00000000");
  EXPECT_EQ(HexV3(R"("bytes")", "[1, 255]"), "0200000001ff");
  EXPECT_EQ(HexV3(R"("bytes")", R"("Af8=")"), "0200000001ff");
  EXPECT_EQ(ParseV3(R"("bytes")", "[65, 255]")->value, model::Value("A\u00ff"));
}

TEST(FillValueV3Test, Times) {
  const char* type =
      R"({"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":1}})";
  EXPECT_EQ(HexV3(type, "-9223372036854775808"), "0000000000000080");
  EXPECT_EQ(HexV3(type, R"("NaT")"), "0000000000000080");
  EXPECT_EQ(HexV3(type, "258"), "0201000000000000");
}

constexpr const char* kStruct = R"({"name":"struct","configuration":{"fields":[
    {"name":"a","data_type":"uint16"},
    {"name":"p","data_type":{"name":"struct","configuration":{"fields":[
        {"name":"x","data_type":"float32"},{"name":"y","data_type":"int8"}]}}}]}})";

TEST(FillValueV3Test, StructsByMember) {
  EXPECT_EQ(HexV3(kStruct, R"({"p":{"y":-1,"x":"NaN"},"a":258})"), "02010000c07fff");
  const auto fill = ParseV3(kStruct, R"({"a":1,"p":{"x":1.0,"y":2}})");
  ASSERT_THAT(fill, test::IsOk());
  using Value = model::Value;
  EXPECT_EQ(fill->value,
            Value(Value::Map{{"a", model::WideInt{1}},
                             {"p", Value::Map{{"x", 1.0}, {"y", model::WideInt{2}}}}}));
}

TEST(FillValueV3Test, PackedStructsHaveTheOrderOfTheCodec) {
  // 01 02 | 3f 80 00 00 | 07
  EXPECT_EQ(HexV3(kStruct, R"("AQI/gAAABw==")", model::ByteOrder::kBig), "02010000803f07");
  EXPECT_EQ(HexV3(kStruct, R"("AgEAAIA/Bw==")", model::ByteOrder::kLittle), "02010000803f07");
}

TEST(FillValueV3Test, RefusesWhatIsNoValueOfTheType) {
  struct {
    const char* type;
    const char* fill;
    const char* message;
  } const kCases[] = {
      {R"("int8")", "128", "128"},
      {R"("uint8")", "-1", "-1"},
      {R"("uint8")", "1.0", "expected an integer, found the number 1.0"},
      {R"("uint8")", "\"one\"", "expected an integer"},
      {R"("uint8")", "null", "expected an integer, found null"},
      {R"("uint8")", "true", "expected an integer, found true"},
      {R"("bool")", "2", "expected true or false, found the number 2"},
      {R"("float32")", R"("nan")", "expected a number, NaN"},
      {R"("float32")", R"("0x7fc0000")", "expected 0x and 8 hexadecimal digits"},
      {R"("float32")", R"("0x7fc0000g")", "expected 0x and 8 hexadecimal digits"},
      {R"("float32")", "true", "expected a number, NaN"},
      {R"("float32")", "null", "expected a number, NaN"},
      {R"("complex64")", "1.0", "expected an object"},
      {R"("complex64")", "[1.0]", "expected a list of 2"},
      {R"("complex64")", "[1.0, {}]", "[1]: expected a number"},
      {R"("r16")", "[1]", "1 bytes for an element of 2"},
      {R"("r16")", "[1, 256]", "expected an integer from 0 to 255, found the number 256"},
      {R"("r16")", "[1, 18446744073709551615]", "expected an integer from 0 to 255"},
      {R"("r16")", R"("A")", "expected bytes in base64"},
      {R"("string")", "0", "expected a string, found the number 0"},
      {R"({"name":"fixed_length_utf32","configuration":{"length_bytes":4}})", R"("ab")", ""},
      {R"({"name":"null_terminated_bytes","configuration":{"length_bytes":1}})", R"("YWI=")",
       "2 bytes for an element of 1"},
      {kStruct, R"({"a":1})", "\"p\" is missing"},
      {kStruct, R"({"a":1,"p":{"x":1,"y":2},"z":1})", "3 members for a struct of 2"},
      {kStruct, R"({"a":1,"p":{"x":1,"y":200}})", "p: y: "},
      {kStruct, R"("AQI=")", "2 bytes for an element of 7"},
      {kStruct, "0", "expected an object"},
  };
  for (const auto& [type, fill, message] : kCases) {
    EXPECT_THAT(ParseV3(type, fill), IsError(ErrorCode::kBadInput, HasSubstr(message)))
        << type << " " << fill;
  }
}

TEST(FillValueV2Test, NullIsNone) { EXPECT_EQ(HexV2(R"("<f4")", "null"), "none"); }

TEST(FillValueV2Test, NumbersAreLittleEndianWhateverIsStored) {
  EXPECT_EQ(HexV2(R"("<i4")", "258"), "02010000");
  EXPECT_EQ(HexV2(R"(">i4")", "258"), "02010000");
  EXPECT_EQ(HexV2(R"(">f8")", R"("-Infinity")"), "000000000000f0ff");
  EXPECT_EQ(HexV2(R"("<f8")", R"("NaN")"), "000000000000f87f");
  EXPECT_EQ(HexV2(R"("<f4")", "-0.0"), "00000080");
  EXPECT_EQ(HexV2(R"("<f2")", "65504"), "ff7b");
  EXPECT_EQ(HexV2(R"("|b1")", "true"), "01");
  EXPECT_EQ(HexV2(R"("|b1")", "1"), "01");
  EXPECT_EQ(HexV2(R"("<c8")", R"([1.0, "NaN"])"), "0000803f0000c07f");
  EXPECT_EQ(HexV2(R"("<c8")", "1.5"), "0000c03f00000000");
}

TEST(FillValueV2Test, WhatOlderWritersLeft) {
  EXPECT_EQ(HexV2(R"("<i4")", "3.0"), "03000000");
  EXPECT_EQ(HexV2(R"("<i4")", "true"), "01000000");
  EXPECT_EQ(HexV2(R"("<f4")", "false"), "00000000");
  EXPECT_EQ(HexV2(R"("|S4")", "[88]"), "58000000");
  EXPECT_EQ(HexV2(R"("|S4")", "0"), "00000000");
  EXPECT_EQ(HexV2(R"("<U2")", "0"), "0000000000000000");
  EXPECT_EQ(HexV2(R"("|V3")", "0"), "000000");
  EXPECT_EQ(HexV2(R"([["a","<i2"],["b","|S2"]])", "0"), "00000000");
}

TEST(FillValueV2Test, TextAndBytes) {
  EXPECT_EQ(HexV2(R"("|S4")", R"("YWI=")"), "61620000");
  EXPECT_EQ(HexV2(R"("|S4")", R"("")"), "00000000");
  EXPECT_EQ(HexV2(R"("|S2")", R"("YWJj")"), "6162");      // cut, as NumPy does
  EXPECT_EQ(HexV2(R"("|S4")", R"("n/a!")"), "6e2f6121");  // no base64
  EXPECT_EQ(HexV2(R"("|V2")", R"("AQI=")"), "0102");
  EXPECT_EQ(HexV2(R"("<U2")", R"("é")"), "e900000000000000");
  EXPECT_EQ(HexV2(R"(">U2")", R"("é")"), "e900000000000000");
}

TEST(FillValueV2Test, Times) {
  EXPECT_EQ(HexV2(R"("<M8[ns]")", "-9223372036854775808"), "0000000000000080");
  EXPECT_EQ(HexV2(R"(">M8[ns]")", R"("NaT")"), "0000000000000080");
  EXPECT_EQ(HexV2(R"("<m8[D]")", "1"), "0100000000000000");
}

TEST(FillValueV2Test, StructsAreBytesAsStored) {
  // Members of both byte orders, and a subarray.
  EXPECT_EQ(HexV2(R"([["a",">u2"],["b","<u2"],["c",">u2",[2]]])", R"("AAEAAQACAAM=")"),
            "0100000102000300");
}

TEST(FillValueV2Test, RefusesWhatIsNoValueOfTheType) {
  struct {
    const char* dtype;
    const char* fill;
    const char* message;
  } const kCases[] = {
      {R"("<i4")", "1.5", "expected an integer, found the number 1.5"},
      {R"("<i4")", R"("NaN")", "expected an integer"},
      {R"("<i4")", "NaN", "expected an integer, found the number NaN"},
      {R"("<i4")", "1e300", "expected an integer"},
      {R"("|i1")", "300", "300"},
      {R"("<f4")", R"("big")", "expected a number, NaN, Infinity or -Infinity"},
      {R"("<f4")", R"("0x7fc00000")", "expected a number, NaN, Infinity or -Infinity"},
      {R"("<U2")", "3", "expected a string, found the number 3"},
      {R"("|S2")", "3", "expected bytes in base64, found the number 3"},
      {R"("|S2")", "[3.5]", "expected an integer from 0 to 255"},
      {R"([["a","<i2"]])", R"("AA==")", "1 bytes for an element of 2"},
      {R"([["a","<i2"]])", R"("?")", "expected bytes in base64"},
      {R"("|b1")", R"("yes")", "expected true or false"},
  };
  for (const auto& [dtype, fill, message] : kCases) {
    EXPECT_THAT(ParseV2(dtype, fill), IsError(ErrorCode::kBadInput, HasSubstr(message)))
        << dtype << " " << fill;
  }
}

}  // namespace
}  // namespace ndlfs::backends::zarr
