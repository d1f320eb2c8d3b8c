// SPDX-License-Identifier: MIT
//
// Codecs that work on arrays, and filters as Zarr v3 has them; those that work
// on bytes are in conformance_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "backends/codec/codec_chain.h"
#include "backends/codec/registry.h"
#include "tests/backends/codec/codec_testing.h"

namespace ndlfs::backends {
namespace {

using model::Datatype;
using model::ErrorCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kZarr3 = CodecDialect::kZarr3;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

const Datatype kInt8 = Datatype::Integer(1, true);
const Datatype kUint8 = Datatype::Integer(1, false);
const Datatype kInt16 = Datatype::Integer(2, true);
const Datatype kInt32 = Datatype::Integer(4, true);
const Datatype kInt64 = Datatype::Integer(8, true);

CodecChain MakeChain(std::string_view codecs, const ChunkForm& form) {
  auto chain = MakeZarr3Chain(*ParseJson(codecs), form);
  if (!chain) {
    ADD_FAILURE() << chain.error().message();
    return {};
  }
  return *std::move(chain);
}

// A chain of one codec before the bytes.
CodecChain MakeFilterChain(std::string_view codec, const ChunkForm& form) {
  return MakeChain(
      fmt::format(R"([{}, {{"name": "bytes", "configuration": {{"endian": "little"}}}}])",
                  codec),
      form);
}

template <typename T>
model::Result<std::vector<T>> Decode(const CodecChain& chain, ConstByteSpan encoded,
                                     const std::vector<uint64_t>& shape) {
  GuardedBuffer memory(*ChunkForm{chain.dtype(), shape}.byte_size());
  Scratch scratch;
  NDLFS_RETURN_IF_ERROR(chain.Decode(encoded, shape, memory.span(), scratch));
  EXPECT_TRUE(memory.IsIntact());
  return ValuesOf<T>(memory.span());
}

// Decodes `encoded` as elements of `dtype` through one array to array codec.
template <typename T, typename From>
std::vector<T> DecodeFilter(std::string_view codec, const Datatype& dtype,
                            const std::vector<From>& encoded) {
  const ChunkForm form{dtype, {encoded.size()}};
  const auto values =
      Decode<T>(MakeFilterChain(codec, form), BytesOf(encoded).span(), form.shape);
  if (!values) {
    ADD_FAILURE() << values.error().message();
    return {};
  }
  return *values;
}

template <typename From>
std::string FilterFailure(std::string_view codec, const Datatype& dtype,
                          const std::vector<From>& encoded) {
  const ChunkForm form{dtype, {encoded.size()}};
  return FailureOf(
      Decode<std::byte>(MakeFilterChain(codec, form), BytesOf(encoded).span(), form.shape),
      ErrorCode::kCorrupt);
}

std::string ConfigFailure(std::string_view name, std::string_view configuration,
                          const ChunkForm& form, ErrorCode code = ErrorCode::kBadInput) {
  return MakeFailure(kZarr3, name, configuration, form, code);
}

// The fill value that a codec hands on to the next.
template <typename T, typename From>
std::vector<T> EncodedFill(std::string_view name, std::string_view configuration,
                           const Datatype& dtype, From fill) {
  const auto bytes = std::as_bytes(std::span(&fill, 1));
  const ChunkForm form{dtype, {4}, {bytes.begin(), bytes.end()}};
  auto codec = MakeCodecFrom(kZarr3, name, configuration, form);
  if (!codec) {
    ADD_FAILURE() << codec.error().message();
    return {};
  }
  const auto encoded =
      std::get<std::shared_ptr<const ArrayToArrayCodec>>(*codec)->EncodedForm(form);
  if (!encoded) {
    ADD_FAILURE() << encoded.error().message();
    return {};
  }
  return ValuesOf<T>(encoded->fill);
}

TEST(NumcodecsInZarr3Test, DeltaSumsUpInTheTypeOfTheArray) {
  EXPECT_THAT(
      DecodeFilter<int32_t>(R"({"name": "numcodecs.delta", "configuration": {"dtype": "<i4"}})",
                            kInt32, std::vector<int32_t>{5, 1, -7, 1000000}),
      ElementsAre(5, 6, -1, 999999));
  EXPECT_THAT(
      DecodeFilter<int64_t>(
          R"({"name": "numcodecs.delta", "configuration": {"dtype": "int64", "astype": "|i1"}})",
          kInt64, std::vector<int8_t>{100, 100, -1}),
      ElementsAre(100, 200, 199));
}

TEST(NumcodecsInZarr3Test, DeltaOfUnsignedIntegersWrapsAround) {
  EXPECT_THAT(DecodeFilter<uint8_t>(R"({"name": "numcodecs.delta", "configuration": {}})",
                                    kUint8, std::vector<uint8_t>{250, 10, 246}),
              ElementsAre(250, 4, 250));
}

TEST(NumcodecsInZarr3Test, DeltaContinuesOverMoreNumbersThanItLoadsAtOnce) {
  const std::vector<int32_t> ones(5000, 1);
  const auto sums = DecodeFilter<int32_t>(
      R"({"name": "numcodecs.delta", "configuration": {"dtype": "<i4"}})", kInt32, ones);
  ASSERT_EQ(sums.size(), 5000u);
  EXPECT_EQ(sums[512], 513);
  EXPECT_EQ(sums[4999], 5000);
}

TEST(NumcodecsInZarr3Test, FixedScaleOffsetTakesItsTypeFromTheArray) {
  EXPECT_THAT(DecodeFilter<float>(R"({"name": "numcodecs.fixedscaleoffset",
                              "configuration": {"scale": 10, "offset": 100, "astype": "|u1"}})",
                                  Datatype::Float32(), std::vector<uint8_t>{0, 5, 255}),
              ElementsAre(100.0f, 100.5f, 125.5f));
}

TEST(NumcodecsInZarr3Test, AsTypeAndQuantizeConvert) {
  EXPECT_THAT(DecodeFilter<float>(
                  R"({"name": "numcodecs.astype", "configuration": {"encode_dtype": "<i2"}})",
                  Datatype::Float32(), std::vector<int16_t>{-3, 300}),
              ElementsAre(-3.0f, 300.0f));
  EXPECT_THAT(DecodeFilter<double>(R"({"name": "numcodecs.quantize",
                      "configuration": {"digits": 2, "dtype": "<f8", "astype": "<f4"}})",
                                   Datatype::Float64(), std::vector<float>{0.5f, -1.25f}),
              ElementsAre(0.5, -1.25));
}

TEST(NumcodecsInZarr3Test, BoolsArePackedIntoBitsAfterTheirPadding) {
  const ChunkForm form{Datatype::Bool(), {2, 5}};
  const CodecChain chain = MakeChain(R"(["numcodecs.packbits", "bytes"])", form);
  EXPECT_EQ(chain.ExactEncodedSize(form.shape), 3u);
  // np.packbits([1,0,0,1,1, 0,1,0,1,1])
  EXPECT_THAT(*Decode<uint8_t>(chain, FromHex("069ac0").span(), form.shape),
              ElementsAre(1, 0, 0, 1, 1, 0, 1, 0, 1, 1));
  EXPECT_EQ(FailureOf(Decode<uint8_t>(chain, FromHex("059ac0").span(), form.shape),
                      ErrorCode::kCorrupt),
            "packbits: 11 elements, expected 10");
  EXPECT_EQ(FailureOf(Decode<uint8_t>(chain, FromHex("089ac0").span(), form.shape),
                      ErrorCode::kCorrupt),
            "packbits: 3 bytes, of which 8 bits are padding");
}

TEST(NumcodecsInZarr3Test, FiltersOfTheWrongTypeAreRefused) {
  const ChunkForm form{kInt32, {4}};
  const auto failure = [&](std::string_view codec) {
    return FailureOf(MakeZarr3Chain(*ParseJson(fmt::format("[{}, \"bytes\"]", codec)), form),
                     ErrorCode::kBadInput);
  };
  EXPECT_THAT(failure(R"({"name": "numcodecs.delta", "configuration": {"dtype": "<i8"}})"),
              HasSubstr("codecs[0]: delta: made for elements of int64, not int32"));
  EXPECT_THAT(failure(R"("numcodecs.packbits")"),
              HasSubstr("codecs[0]: packbits: made for elements of bool, not int32"));
  EXPECT_THAT(failure(R"({"name": "numcodecs.quantize", "configuration": {"dtype": "<i4"}})"),
              HasSubstr("quantize: only floats can be quantized"));
  EXPECT_THAT(
      failure(
          R"({"name": "numcodecs.delta", "configuration": {"dtype": "<i4", "astype": "<f4"}})"),
      HasSubstr("delta: differences of float32 for elements of int32"));
  EXPECT_THAT(failure(R"({"name": "numcodecs.astype", "configuration": {}})"),
              HasSubstr("astype: \"encode_dtype\" is missing"));
  EXPECT_THAT(failure(R"({"name": "numcodecs.fixedscaleoffset",
                          "configuration": {"scale": "big", "offset": 0}})"),
              HasSubstr("scale: expected a number, found the string \"big\""));
}

TEST(NumcodecsInZarr3Test, WhatIsNoNumberIsUnsupported) {
  EXPECT_THAT(ConfigFailure("numcodecs.delta", R"({"dtype": "<U4"})", {kInt32, {4}},
                            ErrorCode::kUnsupported),
              HasSubstr("delta: dtype: the string \"<U4\" is no integer, bool or float"));
  EXPECT_THAT(ConfigFailure("numcodecs.delta", R"({"dtype": ">i4"})", {kInt32, {4}},
                            ErrorCode::kUnsupported),
              HasSubstr("delta: a big-endian dtype"));
  EXPECT_THAT(ConfigFailure("numcodecs.delta", R"({"dtype": "|b1"})", {Datatype::Bool(), {4}},
                            ErrorCode::kUnsupported),
              HasSubstr("delta: differences of"));
}

TEST(NumcodecsInZarr3Test, ShuffleTakesItsElementSizeFromTheArray) {
  const ChunkForm form{kInt16, {3}};
  const CodecChain chain = MakeChain(
      R"([{"name": "bytes", "configuration": {"endian": "little"}}, "numcodecs.shuffle"])",
      form);
  EXPECT_THAT(*Decode<int16_t>(chain, FromHex("010203000000").span(), form.shape),
              ElementsAre(1, 2, 3));
}

TEST(NumcodecsTest, DtypeIsRequiredInZarr2) {
  EXPECT_EQ(MakeFailure(CodecDialect::kNumcodecs, "delta", "{}", {kInt32, {4}}),
            "delta: \"dtype\" is missing");
}

TEST(NumcodecsTest, PickleIsRefusedWithItsReason) {
  EXPECT_EQ(MakeFailure(CodecDialect::kNumcodecs, "pickle", "{}", {kInt32, {4}},
                        ErrorCode::kUnsupported),
            "pickle: its data are a program for Python, which is not run");
}

TEST(NumcodecsTest, JenkinsLookup3HasThePublishedValues) {
  // From the comments of Bob Jenkins' lookup3.c.
  const std::string text = "Four score and seven years ago";
  const auto check = [&](std::string_view configuration, std::string_view hash) {
    const Bytes encoded = FromHex(ToHex(AsBytes(text)) + std::string(hash));
    const auto codec =
        MakeBytesToBytes(CodecDialect::kNumcodecs, "jenkins_lookup3", configuration);
    const auto part = codec->DecodePart(encoded.span());
    return part ? std::string(AsText(*part)) : part.error().message();
  };
  EXPECT_EQ(check("{}", "51057717"), text);                 // 17770551
  EXPECT_EQ(check(R"({"initval": 1})", "618162cd"), text);  // cd628161
  EXPECT_EQ(check("{}", "51057718"), "stored 18770551, found 17770551");
  EXPECT_EQ(MakeFailure(CodecDialect::kNumcodecs, "jenkins_lookup3", R"({"prefix": "a"})",
                        ByteForm(1), ErrorCode::kUnsupported),
            "jenkins_lookup3: a prefix, which JSON cannot hold");
}

TEST(NumcodecsTest, Fletcher32OfOldLibrariesIsAccepted) {
  // np.arange(8, dtype="u1") by HDF5, and as HDF5 1.6.2 stored it on x86.
  const auto codec = MakeBytesToBytes(CodecDialect::kHdf5, "3");
  EXPECT_TRUE(codec->DecodePart(FromHex("0001020304050607100c1e14").span()));
  EXPECT_TRUE(codec->DecodePart(FromHex("00010203040506070c10141e").span()));
  EXPECT_THAT(FailureOf(codec->DecodePart(FromHex("00010203040506070c10141f").span()),
                        ErrorCode::kCorrupt),
              HasSubstr("stored "));
}

TEST(BitRoundTest, DecodingChangesNothing) {
  const ChunkForm form{Datatype::Float32(), {4}};
  const CodecChain chain =
      MakeFilterChain(R"({"name": "bitround", "configuration": {"keepbits": 3}})", form);
  EXPECT_TRUE(chain.IsIdentity());
}

TEST(ReshapeTest, ExtentsMayBeNumbersDimensionsOrTheRest) {
  const ChunkForm form{kUint8, {100, 50, 64, 3}};
  const auto shape = [&](std::string_view configuration) {
    auto codec = MakeCodecFrom(kZarr3, "reshape", configuration, form);
    EXPECT_TRUE(codec);
    const auto encoded =
        std::get<std::shared_ptr<const ArrayToArrayCodec>>(*codec)->EncodedForm(form);
    return encoded ? Json(encoded->shape).dump() : encoded.error().message();
  };
  EXPECT_EQ(shape(R"({"shape": [[0, 1], [2], 3]})"), "[5000,64,3]");
  EXPECT_EQ(shape(R"({"shape": [-1, 3]})"), "[320000,3]");
  EXPECT_EQ(shape(R"({"shape": [960000]})"), "[960000]");
  EXPECT_EQ(shape(R"({"shape": [[0], [], -1]})"), "[100,1,9600]");
  EXPECT_THAT(shape(R"({"shape": [7, -1]})"), HasSubstr("cannot have the shape [7,137142]"));
  EXPECT_THAT(shape(R"({"shape": [10]})"), HasSubstr("a chunk of 960000 elements cannot"));
  EXPECT_THAT(shape(R"({"shape": [[4], -1]})"), HasSubstr("shape[0]: there is no dimension 4"));
  EXPECT_THAT(shape(R"({"shape": [2, [0], -1]})"),
              HasSubstr("shape[1]: does not lie where its dimensions do"));
}

TEST(ReshapeTest, ElementsStayInOrder) {
  const ChunkForm form{kUint8, {2, 3}};
  const CodecChain chain =
      MakeFilterChain(R"({"name": "reshape", "configuration": {"shape": [3, 2]}})", form);
  EXPECT_TRUE(chain.IsIdentity());
  EXPECT_EQ(chain.ExactEncodedSize(form.shape), 6u);
}

TEST(ReshapeTest, ConfigurationsThatCannotBeAreRefused) {
  const ChunkForm form{kUint8, {4, 4}};
  const auto failure = [&](std::string_view configuration) {
    return ConfigFailure("reshape", configuration, form);
  };
  EXPECT_EQ(failure("{}"), "reshape: \"shape\" is missing");
  EXPECT_THAT(failure(R"({"shape": 16})"), HasSubstr("shape: expected a list of at most 64"));
  EXPECT_EQ(failure(R"({"shape": [-1, -1]})"), "reshape: shape[1]: a second -1");
  EXPECT_EQ(failure(R"({"shape": [0]})"), "reshape: shape[0]: an extent of 0");
  EXPECT_EQ(failure(R"({"shape": [[1], [0]]})"),
            "reshape: shape[1]: the dimensions are not in rising order");
  EXPECT_THAT(failure(R"({"shape": ["x"]})"), HasSubstr("shape[0]: expected a non-negative"));
}

TEST(ScaleOffsetTest, DividesAndAddsInTheTypeOfTheArray) {
  EXPECT_THAT(DecodeFilter<float>(
                  R"({"name": "scale_offset", "configuration": {"offset": 5, "scale": 0.1}})",
                  Datatype::Float32(), std::vector<float>{0, 1, -2}),
              ElementsAre(5.0f, 1.0f / 0.1f + 5, -2.0f / 0.1f + 5));
  EXPECT_THAT(DecodeFilter<int16_t>(
                  R"({"name": "scale_offset", "configuration": {"offset": -1, "scale": 3}})",
                  kInt16, std::vector<int16_t>{7, -7, 0}),
              ElementsAre(1, -4, -1));
  EXPECT_THAT(DecodeFilter<uint8_t>(
                  R"({"name": "scale_offset", "configuration": {"offset": 250, "scale": 2}})",
                  kUint8, std::vector<uint8_t>{255, 4}),
              ElementsAre(121, 252));
  EXPECT_THAT(
      DecodeFilter<int8_t>(R"({"name": "scale_offset", "configuration": {"scale": -1}})", kInt8,
                           std::vector<int8_t>{-128, 5}),
      ElementsAre(-128, -5));
}

TEST(ScaleOffsetTest, DefaultsChangeNothing) {
  EXPECT_THAT(DecodeFilter<float>(R"("scale_offset")", Datatype::Float32(),
                                  std::vector<float>{1.5f, -2}),
              ElementsAre(1.5f, -2.0f));
}

TEST(ScaleOffsetTest, FillValueGoesTheOtherWay) {
  EXPECT_THAT((EncodedFill<float>("scale_offset", R"({"offset": 5, "scale": 2})",
                                  Datatype::Float32(), 8.0f)),
              ElementsAre(6.0f));
  EXPECT_THAT((EncodedFill<int16_t>("scale_offset", R"({"offset": 5, "scale": 2})", kInt16,
                                    int16_t{3})),
              ElementsAre(-4));
}

TEST(ScaleOffsetTest, ConfigurationsThatCannotBeAreRefused) {
  EXPECT_EQ(ConfigFailure("scale_offset", R"({"scale": 0})", {kInt16, {1}}),
            "scale_offset: scale: division by 0");
  EXPECT_EQ(ConfigFailure("scale_offset", R"({"scale": 1.5})", {kInt16, {1}}),
            "scale_offset: scale: expected an integer, found the number 1.5");
  EXPECT_EQ(ConfigFailure("scale_offset", R"({"offset": 300})", {kUint8, {1}}),
            "scale_offset: offset: 300 does not fit into 1 bytes");
  EXPECT_EQ(ConfigFailure("scale_offset", R"({"factor": 2})", {kInt16, {1}}),
            "scale_offset: unknown member \"factor\"");
  EXPECT_EQ(ConfigFailure("scale_offset", "{}", {Datatype::Opaque(4), {1}}),
            "scale_offset: does not apply to elements of opaque");
}

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
            "cast_value: data_type: the string \"string\" is no type of number");
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

TEST(PackBitsTest, FirstElementsAreInTheLowestBits) {
  const ChunkForm form{Datatype::Bool(), {10}};
  const CodecChain chain = MakeChain(R"(["packbits"])", form);
  EXPECT_EQ(chain.ExactEncodedSize(form.shape), 2u);
  EXPECT_THAT(*Decode<uint8_t>(chain, FromHex("9602").span(), form.shape),
              ElementsAre(0, 1, 1, 0, 1, 0, 0, 1, 0, 1));
}

TEST(PackBitsTest, ARangeOfBitsIsShiftedAndExtended) {
  // Bits 4 to 6 of int8: 3 bits each, 001 and 111.
  const ChunkForm form{kInt8, {2}};
  const CodecChain chain = MakeChain(
      R"([{"name": "packbits", "configuration": {"first_bit": 4, "last_bit": 6}}])", form);
  EXPECT_THAT(*Decode<int8_t>(chain, FromHex("39").span(), form.shape), ElementsAre(16, -16));
}

TEST(PackBitsTest, NumbersMayCrossBytes) {
  const ChunkForm form{Datatype::Integer(4, false), {3}};
  const CodecChain chain = MakeChain(
      R"([{"name": "packbits", "configuration": {"last_bit": 19, "padding_encoding": "first_byte"}}])",
      form);
  // 0x12345, 0xabcde, 0x0ffff one after the other, then 4 bits of padding.
  EXPECT_THAT(*Decode<uint32_t>(chain, FromHex("044523e1cdabffff00").span(), form.shape),
              ElementsAre(0x12345, 0xabcde, 0x0ffff));
}

TEST(PackBitsTest, WrongPaddingOrLengthIsCorrupt) {
  const ChunkForm form{Datatype::Bool(), {10}};
  const CodecChain last = MakeChain(
      R"([{"name": "packbits", "configuration": {"padding_encoding": "last_byte"}}])", form);
  EXPECT_THAT(*Decode<uint8_t>(last, FromHex("960206").span(), form.shape),
              ElementsAre(0, 1, 1, 0, 1, 0, 0, 1, 0, 1));
  EXPECT_EQ(FailureOf(Decode<uint8_t>(last, FromHex("960205").span(), form.shape),
                      ErrorCode::kCorrupt),
            "packbits: 5 bits of padding, expected 6");
  EXPECT_EQ(
      FailureOf(Decode<uint8_t>(last, FromHex("9602").span(), form.shape), ErrorCode::kCorrupt),
      "packbits: 2 bytes, expected 3");
}

TEST(PackBitsTest, ConfigurationsThatCannotBeAreRefused) {
  EXPECT_EQ(ConfigFailure("packbits", R"({"first_bit": 3, "last_bit": 2})", {kInt8, {1}}),
            "packbits: first_bit and last_bit: 3 to 2 of 8 bits");
  EXPECT_EQ(ConfigFailure("packbits", R"({"last_bit": 8})", {kInt8, {1}}),
            "packbits: first_bit and last_bit: 0 to 8 of 8 bits");
  EXPECT_THAT(
      ConfigFailure("packbits", R"({"padding_encoding": "both"})", {kInt8, {1}}),
      HasSubstr("padding_encoding: expected \"none\", \"first_byte\" or \"last_byte\""));
  EXPECT_EQ(ConfigFailure("packbits", "{}", {Datatype::Opaque(2), {1}}),
            "packbits: does not apply to elements of opaque");
}

// --- n5_default ---

constexpr std::string_view kN5Codecs =
    R"([{"name": "n5_default", "configuration": {"codecs": [
         {"name": "transpose", "configuration": {"order": [1, 0]}},
         {"name": "bytes", "configuration": {"endian": "big"}}]}}])";

TEST(N5DefaultTest, BlocksAreColumnMajorAndBigEndianAfterAHeader) {
  const ChunkForm form{kInt16, {2, 3}};
  const CodecChain chain = MakeChain(kN5Codecs, form);
  EXPECT_THAT(*Decode<int16_t>(chain,
                               FromHex("0000"
                                       "0002"
                                       "00000002"
                                       "00000003"
                                       "000000030001000400020005")
                                   .span(),
                               form.shape),
              ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_GE(chain.MaxEncodedSize(form.shape), 24u);
}

TEST(N5DefaultTest, BlocksCutOffAtTheEdgeAreFilledUpWithZeros) {
  const ChunkForm form{kInt16, {2, 3}};
  EXPECT_THAT(*Decode<int16_t>(MakeChain(kN5Codecs, form),
                               FromHex("0000"
                                       "0002"
                                       "00000002"
                                       "00000001"
                                       "00070008")
                                   .span(),
                               form.shape),
              ElementsAre(7, 0, 0, 8, 0, 0));
}

TEST(N5DefaultTest, WholeBlocksAreCutOffWhereTheChunkEnds) {
  const ChunkForm form{kInt16, {2, 3}};
  EXPECT_THAT(*Decode<int16_t>(MakeChain(kN5Codecs, form),
                               FromHex("0000"
                                       "0002"
                                       "00000002"
                                       "00000003"
                                       "000000030001000400020005")
                                   .span(),
                               {2, 2}),
              ElementsAre(0, 1, 3, 4));
}

TEST(N5DefaultTest, HeadersThatLieAreCorrupt) {
  const ChunkForm form{kInt16, {2, 3}};
  const CodecChain chain = MakeChain(kN5Codecs, form);
  const auto failure = [&](std::string_view hex) {
    return FailureOf(Decode<int16_t>(chain, FromHex(hex).span(), form.shape),
                     ErrorCode::kCorrupt);
  };
  EXPECT_EQ(failure("0000"), "n5_default: 2 bytes, a header has 12");
  EXPECT_EQ(failure("000100020000000200000003"), "n5_default: a block of mode 1");
  EXPECT_EQ(failure("000000030000000200000003"),
            "n5_default: a block of 3 dimensions, expected 2");
  EXPECT_EQ(failure("0000000200000002ffffffff"),
            "n5_default: extent 4294967295 of a block along dimension 1, expected 1 to 3");
  EXPECT_EQ(failure("000000020000000000000003"),
            "n5_default: extent 0 of a block along dimension 0, expected 1 to 2");
  EXPECT_EQ(failure("0000000200000002000000030001"), "n5_default: bytes: 2 bytes, expected 12");
}

TEST(N5DefaultTest, OtherChainsAreRefused) {
  EXPECT_THAT(ConfigFailure("n5_default", "{}", {kInt16, {2}}),
              HasSubstr("n5_default: \"codecs\" is missing"));
  EXPECT_THAT(ConfigFailure("n5_default", R"({"codecs": ["n5_default"]})", {kInt16, {2}}),
              HasSubstr("n5_default: codecs: expected transpose, bytes and a compressor"));
}

// --- elements of variable size ---

struct Element {
  std::string bytes;
};

// The elements of a stream, without their table.
std::vector<std::string> ElementsOf(const Bytes& stream, size_t count) {
  const size_t table = (count + 1) * 8;
  if (stream.size() < table) {
    ADD_FAILURE() << "a stream of " << stream.size() << " bytes";
    return {};
  }
  const auto offsets = ValuesOf<uint64_t>(stream.span().first(table));
  EXPECT_EQ(offsets[0], 0u);
  EXPECT_EQ(offsets[count], stream.size() - table);
  std::vector<std::string> elements;
  for (size_t i = 0; i < count; ++i) {
    elements.emplace_back(
        AsText(stream.span().subspan(table + offsets[i], offsets[i + 1] - offsets[i])));
  }
  return elements;
}

std::string Text(std::string_view text) {
  const auto size = static_cast<uint32_t>(text.size());
  std::string bytes(4, '\0');
  std::memcpy(bytes.data(), &size, 4);
  return bytes += text;
}

model::Result<Bytes> DecodeVariable(const CodecChain& chain, ConstByteSpan encoded,
                                    const std::vector<uint64_t>& shape,
                                    uint64_t limit = 1 << 20) {
  Scratch scratch;
  return chain.DecodeVariable(encoded, shape, limit, scratch);
}

std::string VariableFailure(const CodecChain& chain, ConstByteSpan encoded,
                            const std::vector<uint64_t>& shape, uint64_t limit = 1 << 20,
                            ErrorCode code = ErrorCode::kCorrupt) {
  return FailureOf(DecodeVariable(chain, encoded, shape, limit), code);
}

CodecChain MakeZarr2(std::string_view filters, const Datatype& dtype,
                     const std::vector<uint64_t>& shape, bool fortran = false,
                     std::string_view compressor = "null") {
  auto chain =
      MakeZarr2Chain(*ParseJson(filters), *ParseJson(compressor), fortran, dtype, shape);
  if (!chain) {
    ADD_FAILURE() << chain.error().message();
    return {};
  }
  return *std::move(chain);
}

// numcodecs.VLenUTF8().encode(np.array(["foo", "", "fünf"], dtype=object))
constexpr std::string_view kVlenTexts =
    "0300000003000000666f6f00000000050000006"
    "6c3bc6e66";

TEST(VlenTest, TextsBecomeAnElementStream) {
  const ChunkForm form{Datatype::String(), {3}};
  const auto stream =
      DecodeVariable(MakeChain(R"(["vlen-utf8"])", form), FromHex(kVlenTexts).span(), {3});
  ASSERT_TRUE(stream) << stream.error().message();
  EXPECT_THAT(ElementsOf(*stream, 3), ElementsAre(Text("foo"), Text(""), Text("fünf")));
}

TEST(VlenTest, FortranOrderIsUndone) {
  const CodecChain chain =
      MakeZarr2(R"([{"id": "vlen-utf8"}])", Datatype::String(), {1, 3}, true);
  EXPECT_TRUE(DecodeVariable(chain, FromHex(kVlenTexts).span(), {1, 3}));
  const CodecChain square =
      MakeZarr2(R"([{"id": "vlen-bytes"}])", Datatype::String(), {2, 2}, true);
  const auto stream = DecodeVariable(square,
                                     FromHex("04000000"
                                             "0100000061"
                                             "0100000062"
                                             "0100000063"
                                             "0100000064")
                                         .span(),
                                     {2, 2});
  ASSERT_TRUE(stream);
  EXPECT_THAT(ElementsOf(*stream, 4), ElementsAre(Text("a"), Text("c"), Text("b"), Text("d")));
}

TEST(VlenTest, CompressedTextsMayExpandManyTimes) {
  const std::string long_text(300000, 'x');
  std::string encoded = std::string("\1\0\0\0", 4) + Text(long_text);
  Bytes compressed(1000);
  compressed.Shrink(
      ZSTD_compress(compressed.data(), compressed.size(), encoded.data(), encoded.size(), 1));
  const CodecChain chain = MakeZarr2(R"([{"id": "vlen-utf8"}])", Datatype::String(), {1}, false,
                                     R"({"id": "zstd", "level": 1})");
  const auto stream = DecodeVariable(chain, compressed.span(), {1});
  ASSERT_TRUE(stream) << stream.error().message();
  EXPECT_THAT(ElementsOf(*stream, 1), ElementsAre(Text(long_text)));
  EXPECT_THAT(VariableFailure(chain, compressed.span(), {1}, 100000),
              HasSubstr("zstd: Destination buffer is too small"));
}

TEST(VlenTest, MoreThanTheLimitIsRefused) {
  const CodecChain chain = MakeChain(R"(["vlen-utf8"])", {Datatype::String(), {3}});
  EXPECT_EQ(VariableFailure(chain, FromHex(kVlenTexts).span(), {3}, 50, ErrorCode::kLimit),
            "vlen-utf8: more than 50 bytes of elements");
}

TEST(VlenTest, ArraysCountItemsInNativeOrder) {
  const Datatype item = Datatype::Integer(2, true, model::ByteOrder::kBig);
  const CodecChain chain =
      MakeZarr2(R"([{"id": "vlen-array", "dtype": ">i2"}])", Datatype::Vlen(item), {2});
  const auto stream = DecodeVariable(chain,
                                     FromHex("02000000"
                                             "04000000"
                                             "00010002"
                                             "00000000")
                                         .span(),
                                     {2});
  ASSERT_TRUE(stream) << stream.error().message();
  const auto elements = ElementsOf(*stream, 2);
  EXPECT_EQ(ToHex(AsBytes(elements[0])),
            "02000000"
            "01000200");
  EXPECT_EQ(ToHex(AsBytes(elements[1])), "00000000");
  EXPECT_EQ(VariableFailure(chain,
                            FromHex("02000000"
                                    "03000000"
                                    "000102"
                                    "00000000")
                                .span(),
                            {2}),
            "vlen-array: element 0: 3 bytes are no whole number of items");
}

TEST(VlenTest, LengthsThatLieAreCorrupt) {
  const CodecChain chain = MakeChain(R"(["vlen-utf8"])", {Datatype::String(), {2}});
  const auto failure = [&](std::string_view hex) {
    return VariableFailure(chain, FromHex(hex).span(), {2});
  };
  EXPECT_EQ(failure("0200"), "vlen-utf8: 2 bytes");
  EXPECT_EQ(failure("03000000"), "vlen-utf8: 3 elements, expected 2");
  EXPECT_EQ(failure("02000000"), "vlen-utf8: 4 bytes are too few for 2 elements");
  EXPECT_EQ(failure("020000000000000005000000"),
            "vlen-utf8: element 1 of 5 bytes reaches beyond the end");
  EXPECT_EQ(failure("02000000ffffffff00000000"),
            "vlen-utf8: element 0 of 4294967295 bytes reaches beyond the end");
  EXPECT_EQ(failure("020000000400000000000000"), "vlen-utf8: ends at element 1");
  EXPECT_EQ(failure("02000000000000000000000000"), "vlen-utf8: 1 bytes after the last element");
  EXPECT_EQ(failure("020000000100000080"
                    "00000000"),
            "vlen-utf8: element 0: not UTF-8");
}

TEST(VlenTest, EveryTruncationIsCorrupt) {
  const CodecChain chain = MakeChain(R"(["vlen-utf8"])", {Datatype::String(), {3}});
  const Bytes encoded = FromHex(kVlenTexts);
  for (size_t size = 0; size < encoded.size(); ++size) {
    const Bytes part = Bytes::Copy(encoded.span().first(size));
    EXPECT_FALSE(DecodeVariable(chain, part.span(), {3})) << size;
  }
}

TEST(VlenTest, OtherTypesAreRefused) {
  EXPECT_EQ(ConfigFailure("vlen-utf8", "{}", {kInt16, {2}}),
            "vlen-utf8: does not apply to elements of int16");
  EXPECT_EQ(ConfigFailure("vlen-bytes", "{}", {Datatype::Vlen(kInt16), {2}}),
            "vlen-bytes: does not apply to elements of vlen");
  EXPECT_EQ(ConfigFailure("numcodecs.vlen-array", R"({"dtype": "<i4"})",
                          {Datatype::Vlen(kInt16), {2}}),
            "vlen-array: does not apply to elements of vlen");
}

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

TEST(DocumentsTest, JsonElementsAreTextOrTheirJson) {
  const CodecChain chain =
      MakeZarr2(R"([{"id": "json2"}])", Datatype::String(), {2, 2}, /*fortran=*/true);
  const auto stream =
      DecodeVariable(chain, AsBytes(R"([["a","b"],[{"k":[1,null]},2.5],"|O",[2,2]])"), {2, 2});
  ASSERT_TRUE(stream) << stream.error().message();
  EXPECT_THAT(ElementsOf(*stream, 4),
              ElementsAre(Text("a"), Text("b"), Text(R"({"k":[1,null]})"), Text("2.5")));
}

TEST(DocumentsTest, JsonNumbersAreElementsOfFixedSize) {
  const CodecChain chain = MakeZarr2(R"([{"id": "json2"}])", Datatype::Float32(), {3});
  const auto values = Decode<float>(chain, AsBytes(R"([1.5,NaN,-3,"<f4",[3]])"), {3});
  ASSERT_TRUE(values) << values.error().message();
  EXPECT_EQ((*values)[0], 1.5f);
  EXPECT_TRUE(std::isnan((*values)[1]));
  EXPECT_EQ((*values)[2], -3.0f);
  const CodecChain bools = MakeZarr2(R"([{"id": "json2"}])", Datatype::Bool(), {2});
  EXPECT_THAT(*Decode<uint8_t>(bools, AsBytes(R"([true,false,"|b1",[2]])"), {2}),
              ElementsAre(1, 0));
}

TEST(DocumentsTest, MessagePackIsReadLikewise) {
  // msgpack.packb(["foo", 7, {"a": b"x"}, "|O", [3]])
  const CodecChain chain = MakeZarr2(R"([{"id": "msgpack2"}])", Datatype::String(), {3});
  const auto stream =
      DecodeVariable(chain, FromHex("95a3666f6f0781a161c40178a27c4f9103").span(), {3});
  ASSERT_TRUE(stream) << stream.error().message();
  EXPECT_THAT(ElementsOf(*stream, 3),
              ElementsAre(Text("foo"), Text("7"), Text(R"({"a":"x"})")));
}

TEST(DocumentsTest, DocumentsOfAnotherShapeAreCorrupt) {
  const CodecChain chain = MakeZarr2(R"([{"id": "json2"}])", Datatype::String(), {2});
  const auto failure = [&](std::string_view json) {
    return VariableFailure(chain, AsBytes(json), {2});
  };
  EXPECT_EQ(failure(R"(["a","b","|O",[3]])"), "json2: a chunk of shape [3], expected [2]");
  EXPECT_EQ(failure(R"(["a","|O",[2]])"), "json2: expected a list of 2, found a list of 1");
  EXPECT_EQ(failure("{}"),
            "json2: expected a list with a type and a shape at its end, found an object");
  EXPECT_THAT(failure("[\"a\""), HasSubstr("json2: not JSON: "));
  EXPECT_THAT(failure(std::string(1000, '[')), HasSubstr("nested more than 128 levels"));
}

TEST(DocumentsTest, HostileMessagePackIsCorrupt) {
  const CodecChain chain = MakeZarr2(R"([{"id": "msgpack2"}])", Datatype::String(), {2});
  const auto failure = [&](std::string_view bytes) {
    return VariableFailure(chain, AsBytes(bytes), {2});
  };
  EXPECT_THAT(failure(""), HasSubstr("msgpack2: not MessagePack: "));
  EXPECT_THAT(failure("\xdd\xff\xff\xff\xff"), HasSubstr("not MessagePack"));
  EXPECT_THAT(failure(std::string(1 << 20, '\x91')), HasSubstr("nested more than 128 levels"));
}

TEST(DocumentsTest, MoreValuesThanMemoryAllowsAreRefused) {
  const CodecChain chain = MakeZarr2(R"([{"id": "json2"}])", Datatype::String(), {2});
  std::string json = "[";
  for (int i = 0; i < 5000; ++i) json += "0,";
  EXPECT_THAT(VariableFailure(chain, AsBytes(json + "0]"), {2}, 20000),
              HasSubstr("json2: not JSON: more values than expected"));
}

// --- HDF5 ---

std::string Hdf5Failure(std::string_view filter, std::string_view values,
                        ErrorCode code = ErrorCode::kBadInput) {
  return MakeFailure(CodecDialect::kHdf5, filter, fmt::format(R"({{"cd_values": {}}})", values),
                     ByteForm(1), code);
}

TEST(Hdf5FilterTest, ParametersThatCannotBeAreRefused) {
  EXPECT_EQ(Hdf5Failure("2", "[]"), "shuffle: 0 parameters, expected at least 1");
  EXPECT_EQ(Hdf5Failure("2", "[4294967296]"), "shuffle: cd_values: 4294967296 is too large");
  EXPECT_EQ(Hdf5Failure("2", "{}"), "shuffle: cd_values: expected a list, found an object");
  EXPECT_EQ(Hdf5Failure("4", "[141, 8, 8, 4]"),
            "szip: 8 pixels per block, 8 bits per pixel, 4 pixels per scanline");
  EXPECT_EQ(Hdf5Failure("4", "[141, 0, 8, 8]"),
            "szip: 0 pixels per block, 8 bits per pixel, 8 pixels per scanline");
  EXPECT_EQ(Hdf5Failure("4", "[141, 8, 33, 8]"),
            "szip: 8 pixels per block, 33 bits per pixel, 8 pixels per scanline");
  EXPECT_EQ(Hdf5Failure("5", "[8, 0, 4, 1, 2, 0, 17, 0]"),
            "nbit: 17 bits from bit 0 of 2 bytes in order 0");
  EXPECT_EQ(Hdf5Failure("5", "[8, 0, 4, 1, 2, 0, 12]"),
            "nbit: the description of the type ends early");
  EXPECT_EQ(Hdf5Failure("5", "[8, 0, 4, 9, 2, 0, 12, 0]"), "nbit: unknown class 9");
  EXPECT_EQ(Hdf5Failure("5", "[9, 0, 4, 2, 7, 1, 2, 0, 12, 0]"),
            "nbit: an array of 7 bytes with items of 2");
  EXPECT_EQ(Hdf5Failure("5", "[9, 0, 4, 3, 4, 1, 3, 1, 2, 0, 12, 0]"),
            "nbit: 2 bytes where there is room for 1");
  EXPECT_EQ(Hdf5Failure("6", "[2, 0, 4, 0, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]"),
            "scaleoffset: class 0, 3 bytes, sign 1, order 0");
  EXPECT_EQ(Hdf5Failure("6", "[1, 0, 4, 1, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]",
                        ErrorCode::kUnsupported),
            "scaleoffset: scale type 1");
  EXPECT_EQ(Hdf5Failure("32008", "[0, 3, 0]"), "bitshuffle: elements of 0 bytes");
  EXPECT_EQ(Hdf5Failure("32008", "[0, 3, 4, 12]"), "bitshuffle: blocks of 12 elements");
  EXPECT_EQ(Hdf5Failure("32008", "[0, 3, 4, 0, 9]", ErrorCode::kUnsupported),
            "bitshuffle: unknown compression 9");
}

TEST(Hdf5FilterTest, TheSignOfFloatsIsNotLookedAt) {
  EXPECT_EQ(Hdf5Failure("6", "[2, 0, 4, 0, 4, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]"),
            "scaleoffset: class 0, 4 bytes, sign 2, order 0");
  EXPECT_TRUE(MakeBytesToBytes(
      CodecDialect::kHdf5, "6",
      R"({"cd_values": [0, 3, 4, 1, 4, 148433160, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]})"));
}

TEST(Hdf5FilterTest, ManyNestedTypesAreRefused) {
  std::string values = "[0, 0, 1";
  for (int i = 0; i < 100; ++i) values += ", 2, 8";
  EXPECT_EQ(Hdf5Failure("5", values + "]", ErrorCode::kLimit),
            "nbit: nested more than 32 deep");
  EXPECT_EQ(Hdf5Failure("5", "[0, 0, 1, 4, 1000000]", ErrorCode::kLimit),
            "nbit: more than 100000 numbers");
}

TEST(Hdf5FilterTest, NumbersOfMoreThan64BitsAreRead) {
  // 80 bits from bit 3 of 16 bytes: 1, then 0xffff followed by 64 zero bits.
  const auto codec = MakeBytesToBytes(CodecDialect::kHdf5, "5",
                                      R"({"cd_values": [8, 0, 2, 1, 16, 0, 80, 3]})");
  Bytes decoded(32);
  const auto size = codec->Decode(FromHex("00000000000000000001"
                                          "ffff0000000000000000"
                                          "00")
                                      .span(),
                                  decoded.span());
  ASSERT_TRUE(size);
  EXPECT_EQ(ToHex(decoded.span()),
            "08000000000000000000000000000000"
            "0000000000000000f8ff070000000000");
}

}  // namespace
}  // namespace ndlfs::backends
