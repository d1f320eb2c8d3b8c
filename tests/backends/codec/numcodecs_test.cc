// SPDX-License-Identifier: MIT
//
// Filters of numcodecs, in Zarr v2 and in Zarr v3.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/backends/codec/chain_testing.h"

namespace ndlfs::backends {
namespace {

using model::Datatype;
using model::ErrorCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
            "packbits: 3 bytes with 8 bits of padding");
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
              HasSubstr("delta: dtype: the string \"<U4\" is not an integer, bool or float"));
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
            "pickle: its data are a program for Python, which ndlfs does not run");
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
            "jenkins_lookup3: a prefix, which JSON cannot express");
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

TEST(NumcodecsInZarr3Test, FixedScaleOffsetGoesOnOverMoreNumbersThanItLoadsAtOnce) {
  std::vector<uint16_t> encoded(1300);
  for (size_t i = 0; i < encoded.size(); ++i) encoded[i] = static_cast<uint16_t>(i);
  const auto decoded = DecodeFilter<float>(R"({"name": "numcodecs.fixedscaleoffset",
      "configuration": {"scale": 2, "offset": 1, "astype": "<u2"}})",
                                           Datatype::Float32(), encoded);
  ASSERT_EQ(decoded.size(), encoded.size());
  for (size_t i = 0; i < decoded.size(); ++i) {
    ASSERT_EQ(decoded[i], static_cast<float>(i) / 2 + 1) << i;
  }
}

TEST(NumcodecsInZarr3Test, FixedScaleOffsetOfHalvesRoundsEachStep) {
  // numpy.float16: 1 / 3 + 0.1
  EXPECT_THAT(DecodeFilter<float>(R"({"name": "numcodecs.fixedscaleoffset",
                              "configuration": {"scale": 3, "offset": 0.1, "astype": "<f2"}})",
                                  Datatype::Float32(), std::vector<uint16_t>{0x3c00}),
              ElementsAre(0.43310546875f));
  EXPECT_THAT(DecodeFilter<double>(R"({"name": "numcodecs.fixedscaleoffset",
                              "configuration": {"scale": 3, "offset": 0.1}})",
                                   Datatype::Float64(), std::vector<double>{1}),
              ElementsAre(1.0 / 3 + 0.1));
  EXPECT_THAT(DecodeFilter<float>(R"({"name": "numcodecs.fixedscaleoffset",
                              "configuration": {"scale": 3, "offset": 0.1, "astype": "<f4"}})",
                                  Datatype::Float32(), std::vector<float>{1}),
              ElementsAre(1.0f / 3.0f + 0.1f));
}

TEST(NumcodecsInZarr3Test, TypesThatAreNoNumbersAreRefused) {
  for (const char* name : {"delta", "fixedscaleoffset", "quantize"}) {
    EXPECT_THAT(
        ConfigFailure(fmt::format("numcodecs.{}", name), "{}", {Datatype::Opaque(4), {1}}),
        HasSubstr("does not apply to elements of opaque"));
  }
  EXPECT_EQ(ConfigFailure("numcodecs.astype", R"({"encode_dtype": "<i2"})",
                          {Datatype::Opaque(4), {1}}),
            "astype: does not apply to elements of opaque");
  EXPECT_EQ(ConfigFailure("numcodecs.quantize", R"({"dtype": "<f4", "astype": "<i4"})",
                          {Datatype::Float32(), {1}}),
            "quantize: only floats can be quantized");
  EXPECT_THAT(ConfigFailure("numcodecs.astype", R"({"encode_dtype": "<i2", "decode_dtype": 4})",
                            {kInt32, {1}}),
              HasSubstr("expected a type string, found the number 4"));
}

}  // namespace
}  // namespace ndlfs::backends
