// SPDX-License-Identifier: MIT
//
// Zarr v3 "cast_value".
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/backends/codec/chain_testing.h"

namespace ndlfs::backends {
namespace {

using model::Datatype;
using model::ErrorCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(CastValueTest, NumbersThatAlwaysFitAreConverted) {
  EXPECT_THAT(
      DecodeFilter<float>(R"({"name": "cast_value", "configuration": {"data_type": "uint8"}})",
                          Datatype::Float32(), std::vector<uint8_t>{0, 200}),
      ElementsAre(0.0f, 200.0f));
  EXPECT_THAT(
      DecodeFilter<int64_t>(
          R"({"name": "cast_value", "configuration": {"data_type": {"name": "int16"}}})",
          kInt64, std::vector<int16_t>{-5, 300}),
      ElementsAre(-5, 300));
}

TEST(CastValueTest, IntegersOfLessThanAByteAreExtended) {
  const ChunkForm form{Datatype::Integer(2, true), {3}};
  const auto chain = [&](std::string_view type) {
    return MakeChain(fmt::format(R"([{{"name": "cast_value", "configuration":
        {{"data_type": {}}}}}, {{"name": "bytes", "configuration": {{"endian": "big"}}}}])",
                                 type),
                     form);
  };
  // The upper bits of the byte mean nothing.
  const Bytes encoded = FromHex("fa0a07");
  EXPECT_THAT(*Decode<int16_t>(chain(R"("int4")"), encoded.span(), form.shape),
              ElementsAre(-6, -6, 7));
  EXPECT_THAT(*Decode<int16_t>(chain(R"({"name": "uint2"})"), encoded.span(), form.shape),
              ElementsAre(2, 2, 3));
  const CodecChain packed = MakeChain(
      R"([{"name": "cast_value", "configuration": {"data_type": "int4"}}, "packbits"])", form);
  EXPECT_THAT(*Decode<int16_t>(packed, FromHex("7a0f").span(), form.shape),
              ElementsAre(-6, 7, -1));
}

TEST(CastValueTest, TheRangeOfNarrowIntegersIsTheirs) {
  const auto decode = [](std::string_view out_of_range) {
    const ChunkForm form{kInt8, {2}};
    const std::string codecs = fmt::format(
        R"([{{"name": "cast_value", "configuration": {{"data_type": "int8",
            "out_of_range": "{}"}}}}, "bytes"])",
        out_of_range);
    const auto chain = MakeZarr3Chain(*ParseJson(codecs), form, 4);
    EXPECT_TRUE(chain) << chain.error().message();
    return Decode<int8_t>(*chain, FromHex("08f5").span(), form.shape);
  };
  EXPECT_THAT(*decode("clamp"), ElementsAre(7, -8));
  EXPECT_THAT(*decode("wrap"), ElementsAre(-8, 5));
  EXPECT_EQ(FailureOf(decode("error"), ErrorCode::kCorrupt),
            "cast_value: element 0: 8 is out of the range of int4");
  EXPECT_THAT(ConfigFailure("cast_value",
                            R"({"data_type": "int4", "scalar_map": {"encode": [[1, 8]]}})",
                            {kInt8, {1}}),
              HasSubstr("8 is out of the range of int4"));
}

TEST(CastValueTest, RoundsAsConfigured) {
  const auto decode = [](std::string_view rounding) {
    return DecodeFilter<int8_t>(fmt::format(R"({{"name": "cast_value", "configuration":
                         {{"data_type": "float32", "rounding": "{}"}}}})",
                                            rounding),
                                kInt8, std::vector<float>{0.5f, 1.5f, -1.5f, -0.2f});
  };
  EXPECT_THAT(decode("nearest-even"), ElementsAre(0, 2, -2, 0));
  EXPECT_THAT(decode("towards-zero"), ElementsAre(0, 1, -1, 0));
  EXPECT_THAT(decode("towards-positive"), ElementsAre(1, 2, -1, 0));
  EXPECT_THAT(decode("towards-negative"), ElementsAre(0, 1, -2, -1));
  EXPECT_THAT(decode("nearest-away"), ElementsAre(1, 2, -2, 0));
}

TEST(CastValueTest, OutOfRangeIsHandledAsConfigured) {
  const auto codec = [](std::string_view rest) {
    return fmt::format(
        R"({{"name": "cast_value", "configuration": {{"data_type": "int32"{}}}}})", rest);
  };
  const std::vector<int32_t> encoded = {300, -1, 256};
  EXPECT_EQ(FilterFailure(codec(""), kUint8, encoded),
            "cast_value: element 0: 300 is out of the range of uint8");
  EXPECT_EQ(FilterFailure(codec(R"(, "out_of_range": "error")"), kUint8, encoded),
            "cast_value: element 0: 300 is out of the range of uint8");
  EXPECT_THAT(DecodeFilter<uint8_t>(codec(R"(, "out_of_range": "clamp")"), kUint8, encoded),
              ElementsAre(255, 0, 255));
  EXPECT_THAT(DecodeFilter<uint8_t>(codec(R"(, "out_of_range": "wrap")"), kUint8, encoded),
              ElementsAre(44, 255, 0));
}

TEST(CastValueTest, FloatsOutOfRangeAreHandledToo) {
  const auto codec = [](std::string_view rest) {
    return fmt::format(
        R"({{"name": "cast_value", "configuration": {{"data_type": "float64"{}}}}})", rest);
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<double> encoded = {1e300, -kInfinity, 257};
  EXPECT_THAT(DecodeFilter<uint8_t>(codec(R"(, "out_of_range": "clamp")"), kUint8, encoded),
              ElementsAre(255, 0, 255));
  EXPECT_THAT(DecodeFilter<uint8_t>(codec(R"(, "out_of_range": "wrap")"), kUint8,
                                    std::vector<double>{257, -1, 0x1p120 + 0x1p80}),
              ElementsAre(1, 255, 0));
  EXPECT_THAT(FilterFailure(codec(R"(, "out_of_range": "wrap")"), kUint8, encoded),
              HasSubstr("element 1: infinity cannot be wrapped"));
  EXPECT_THAT(FilterFailure(codec(""), Datatype::Float32(), encoded),
              HasSubstr("element 0: 1e+300 is out of the range of float32"));
  const auto floats =
      DecodeFilter<float>(codec(R"(, "out_of_range": "clamp")"), Datatype::Float32(), encoded);
  EXPECT_THAT(floats, ElementsAre(std::numeric_limits<float>::max(), -kInfinity, 257.0f));
}

TEST(CastValueTest, NanIsAnErrorUnlessMapped) {
  const std::string plain =
      R"({"name": "cast_value", "configuration":
          {"data_type": "float32", "out_of_range": "clamp"}})";
  EXPECT_THAT(FilterFailure(plain, kInt16, std::vector<float>{1, kNan}),
              HasSubstr("cast_value: element 1: NaN cannot be cast to an integer"));
  const std::string mapped =
      R"({"name": "cast_value", "configuration": {"data_type": "float32",
          "scalar_map": {"decode": [["NaN", -999], [1.0, 7]]}}})";
  EXPECT_THAT(DecodeFilter<int16_t>(mapped, kInt16, std::vector<float>{1, kNan, 2}),
              ElementsAre(7, -999, 2));
}

TEST(CastValueTest, IntegersMayStandForNan) {
  const auto values = DecodeFilter<float>(
      R"({"name": "cast_value", "configuration": {"data_type": "uint8",
          "scalar_map": {"encode": [["NaN", 255]], "decode": [[255, "NaN"]]}}})",
      Datatype::Float32(), std::vector<uint8_t>{3, 255});
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(values[0], 3.0f);
  EXPECT_TRUE(std::isnan(values[1]));
}

TEST(CastValueTest, FillValueGoesTheOtherWay) {
  EXPECT_THAT((EncodedFill<uint8_t>("cast_value", R"({"data_type": "uint8"})",
                                    Datatype::Float32(), 7.4f)),
              ElementsAre(7));
  EXPECT_THAT((EncodedFill<uint8_t>("cast_value", R"({"data_type": "uint8",
                  "scalar_map": {"encode": [["NaN", 255]]}})",
                                    Datatype::Float32(), kNan)),
              ElementsAre(255));
  const auto nan = std::as_bytes(std::span(&kNan, 1));
  const ChunkForm form{Datatype::Float32(), {4}, {nan.begin(), nan.end()}};
  EXPECT_THAT(FailureOf(MakeZarr3Chain(*ParseJson(R"([{"name": "cast_value",
                    "configuration": {"data_type": "uint8"}}, "bytes"])"),
                                       form),
                        ErrorCode::kBadInput),
              HasSubstr("cast_value: fill value: NaN cannot be cast to an integer"));
}

TEST(CastValueTest, ConfigurationsThatCannotBeAreRefused) {
  const ChunkForm form{kInt16, {1}};
  const auto failure = [&](std::string_view configuration,
                           ErrorCode code = ErrorCode::kBadInput) {
    return ConfigFailure("cast_value", configuration, form, code);
  };
  EXPECT_EQ(failure("{}"), "cast_value: \"data_type\" is missing");
  EXPECT_EQ(failure(R"({"data_type": "string"})", ErrorCode::kUnsupported),
            "cast_value: data_type: the string \"string\" is not a type of number");
  EXPECT_EQ(failure(R"({"data_type": "int8", "rounding": "up"})"),
            "cast_value: rounding: unknown value \"up\"");
  EXPECT_EQ(failure(R"({"data_type": "int8", "out_of_range": "ignore"})"),
            "cast_value: out_of_range: unknown value \"ignore\"");
  EXPECT_EQ(failure(R"({"data_type": "int8", "scale": 2})"),
            "cast_value: unknown member \"scale\"");
  EXPECT_EQ(failure(R"({"data_type": "int8", "scalar_map": {"decode": [[1]]}})"),
            "cast_value: scalar_map: decode: expected a pair, found a list of 1");
  EXPECT_EQ(failure(R"({"data_type": "int8", "scalar_map": {"decode": [[1, 99999]]}})"),
            "cast_value: scalar_map: decode: 99999 does not fit into 2 bytes");
}

// Decodes float32 as a float of 1 byte, and gives the codes, or the message.
std::string CastTo(std::string_view type, std::string_view out_of_range,
                   const std::vector<float>& encoded) {
  const ChunkForm form{Datatype::Float(type, 1), {encoded.size()}};
  const CodecChain chain = MakeFilterChain(
      fmt::format(R"({{"name": "cast_value", "configuration": {{"data_type": "float32",
                      "out_of_range": "{}"}}}})",
                  out_of_range),
      form);
  const auto codes = Decode<std::byte>(chain, BytesOf(encoded).span(), form.shape);
  return codes ? ToHex(*codes) : codes.error().message();
}

TEST(CastValueTest, FloatsOfAByteHaveTheirOwnRange) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(CastTo("float8_e4m3fn", "error", {1, 448, -2}), "387ec0");
  EXPECT_EQ(CastTo("float8_e4m3fn", "error", {1, 500}),
            "cast_value: element 1: 500 is out of the range of float8_e4m3fn");
  EXPECT_EQ(CastTo("float8_e4m3fn", "clamp", {500, -kInfinity, kNan}), "7efe7f");
  EXPECT_EQ(CastTo("float8_e5m2", "clamp", {1e9f, -kInfinity}), "7bfc") << "it has an infinity";
}

TEST(CastValueTest, FloatsWithoutNanDoNotBecomeZero) {
  EXPECT_EQ(CastTo("float4_e2m1fn", "error", {1, -6}), "020f");
  EXPECT_EQ(CastTo("float4_e2m1fn", "error", {1, 100}),
            "cast_value: element 1: 100 is out of the range of float4_e2m1fn");
  EXPECT_EQ(CastTo("float6_e2m3fn", "clamp", {100, -100}), "1f3f");
  EXPECT_EQ(CastTo("float6_e3m2fn", "clamp", {kNan}),
            "cast_value: element 0: NaN cannot be cast to float6_e3m2fn");
}

TEST(CastValueTest, PowersOfTwoHaveNeitherZeroNorSigns) {
  EXPECT_EQ(CastTo("float8_e8m0fnu", "error", {1, 8, 0.25}), "7f827d");
  EXPECT_EQ(CastTo("float8_e8m0fnu", "error", {0}),
            "cast_value: element 0: 0 is out of the range of float8_e8m0fnu");
  EXPECT_EQ(
      CastTo("float8_e8m0fnu", "clamp", {0, -4, std::numeric_limits<float>::infinity(), kNan}),
      "0000feff");
}

TEST(CastValueTest, WideUnsignedNumbersStayPositive) {
  const auto codec = [](std::string_view out_of_range) {
    return fmt::format(R"({{"name": "cast_value", "configuration": {{"data_type": "uint64",
                           "out_of_range": "{}"}}}})",
                       out_of_range);
  };
  const std::vector<uint64_t> encoded = {UINT64_MAX, 5};
  EXPECT_THAT(DecodeFilter<int64_t>(codec("clamp"), kInt64, encoded),
              ElementsAre(INT64_MAX, 5));
  EXPECT_THAT(DecodeFilter<int64_t>(codec("wrap"), kInt64, encoded), ElementsAre(-1, 5));
  EXPECT_THAT(FilterFailure(codec("error"), kInt64, encoded), HasSubstr("out of the range"));
  EXPECT_THAT(DecodeFilter<double>(codec("error"), Datatype::Float64(), encoded),
              ElementsAre(18446744073709551615.0, 5.0));
}

TEST(CastValueTest, BoolsAreNoNumbers) {
  EXPECT_THAT(ConfigFailure("cast_value", R"({"data_type": "bool"})", {kInt16, {1}},
                            ErrorCode::kUnsupported),
              HasSubstr("the string \"bool\" is not a type of number"));
}

TEST(CastValueTest, FloatsBetweenTypesKeepNanAndWhatFits) {
  const auto values = DecodeFilter<double>(
      R"({"name": "cast_value", "configuration": {"data_type": "float32",
          "scalar_map": {"encode": null, "decode": [["-Infinity", 0], ["0x40000000", 3], ["NaN", "NaN"]]}}})",
      Datatype::Float64(),
      std::vector<float>{kNan, 2, -std::numeric_limits<float>::infinity(), 5});
  ASSERT_EQ(values.size(), 4u);
  EXPECT_TRUE(std::isnan(values[0]));
  EXPECT_EQ(values[1], 3.0);
  EXPECT_EQ(values[2], 0.0);
  EXPECT_EQ(values[3], 5.0);
  const auto halves = DecodeFilter<float>(
      R"({"name": "cast_value", "configuration": {"data_type": "float16"}})",
      Datatype::Float32(), std::vector<uint16_t>{0x3c00, 0xfc00});
  EXPECT_THAT(halves, ElementsAre(1.0f, -std::numeric_limits<float>::infinity()));
}

TEST(CastValueTest, MapsThatAreNoMapsAreRefused) {
  const auto failure = [](std::string_view map, std::string_view type = "int8") {
    return ConfigFailure("cast_value",
                         fmt::format(R"({{"data_type": "{}", "scalar_map": {}}})", type, map),
                         {Datatype::Float32(), {1}});
  };
  EXPECT_EQ(failure("[]"), "cast_value: scalar_map: expected an object, found a list of 0");
  EXPECT_EQ(failure(R"({"decode": {}})"),
            "cast_value: scalar_map: decode: expected a list of pairs, found an object");
  EXPECT_EQ(failure(R"({"decode": [1]})"),
            "cast_value: scalar_map: decode: expected a pair, found the number 1");
  EXPECT_THAT(failure(R"({"decode": [[1, "0x1ffffffff"]]})"),
              HasSubstr("\"0x1ffffffff\" has more than 4 bytes"));
  EXPECT_THAT(failure(R"({"decode": [[1, "0xy"]]})"), HasSubstr("\"0xy\" is not a number"));
  EXPECT_THAT(failure(R"({"decode": [[128, 1]]})"), HasSubstr("128 does not fit into 1 bytes"));
  EXPECT_THAT(failure(R"({"decode": [[-129, 1]]})"), HasSubstr("-129 does not fit"));
  EXPECT_THAT(failure(R"({"decode": [[9223372036854775808, 1]]})", "int64"),
              HasSubstr("9223372036854775808 does not fit into 8 bytes"));
  EXPECT_THAT(failure(R"({"decode": [[-1, 1]]})", "uint64"), HasSubstr("-1 does not fit"));
  EXPECT_THAT(failure(R"({"decode": [[256, 1]]})", "uint8"), HasSubstr("256 does not fit"));
  EXPECT_THAT(ConfigFailure("cast_value", R"({"data_type": 5})", {kInt16, {1}},
                            ErrorCode::kUnsupported),
              HasSubstr("the number 5 is not a type of number"));
  for (const Datatype& dtype : {Datatype::Bool(), Datatype::Opaque(3)}) {
    EXPECT_THAT(ConfigFailure("cast_value", R"({"data_type": "int8"})", {dtype, {1}}),
                HasSubstr("does not apply to elements of"));
  }
}

}  // namespace
}  // namespace ndlfs::backends
