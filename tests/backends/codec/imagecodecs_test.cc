// SPDX-License-Identifier: MIT
//
// Codecs of TIFF under the names that Zarr metadata give them, with the examples of TIFF 6.0.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backends/codec/predictor.h"
#include "backends/codec/registry.h"
#include "tests/backends/codec/chain_testing.h"
#include "tests/backends/codec/codec_testing.h"

namespace ndlfs::backends {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The decoded bytes, or the error.
std::string DecodeImage(std::string_view codec, const std::string& encoded, size_t size = 100) {
  Bytes decoded(size);
  const auto count =
      MakeBytesToBytes(CodecDialect::kZarr3, codec)->Decode(AsBytes(encoded), decoded.span());
  if (!count) return "error: " + count.error().message();
  return std::string(AsText(decoded.span().first(*count)));
}

// Codes of 9 bits, the highest bit first.
std::string Codes(const std::vector<unsigned>& codes) {
  std::string bytes;
  unsigned bits = 0, have = 0;
  for (const unsigned code : codes) {
    bits = bits << 9 | code;
    for (have += 9; have >= 8; have -= 8) bytes += static_cast<char>(bits >> (have - 8));
  }
  if (have > 0) bytes += static_cast<char>(bits << (8 - have));
  return bytes;
}

constexpr unsigned kClear = 256, kEnd = 257;

TEST(LzwCodecTest, DecodesTheExampleOfTheSpecification) {
  EXPECT_EQ(DecodeImage("imagecodecs_lzw", Codes({kClear, 7, 258, 8, 8, 258, 6, 6, kEnd})),
            "\7\7\7\10\10\7\7\6\6");
}

TEST(LzwCodecTest, StringMayBeginWithItsOwnEnd) {
  EXPECT_EQ(DecodeImage("imagecodecs_lzw", Codes({kClear, 'a', 258, 259, 260, kEnd})),
            std::string(1 + 2 + 3 + 4, 'a'));
}

TEST(LzwCodecTest, EndMayBeMissing) {
  EXPECT_EQ(DecodeImage("imagecodecs_lzw", Codes({kClear, 'a', 'b'})), "ab");
  EXPECT_EQ(DecodeImage("imagecodecs_lzw", ""), "");
}

TEST(LzwCodecTest, MistakesAreErrors) {
  EXPECT_THAT(DecodeImage("imagecodecs_lzw", Codes({kClear, 300, kEnd})),
              HasSubstr("a code that is not in the table"));
  EXPECT_THAT(DecodeImage("imagecodecs_lzw", Codes({kClear, 258, kEnd})),
              HasSubstr("a code that is not in the table"));
  EXPECT_THAT(DecodeImage("imagecodecs_lzw", Codes({kClear, 'a', 258, 259, kEnd}), 5),
              HasSubstr("decodes to more than expected"));
  EXPECT_THAT(DecodeImage("imagecodecs_lzw", Codes({kClear, 'a', 'b', kEnd}), 1),
              HasSubstr("decodes to more than expected"));
  EXPECT_THAT(DecodeImage("imagecodecs_lzw", std::string("\0\1", 2)),
              HasSubstr("as before TIFF 5"));
}

TEST(PackBitsCodecTest, DecodesTheExampleOfTheSpecification) {
  // Apple's Technical Note TN1023.
  const std::string encoded("\xFE\xAA\x02\x80\x00\x2A\xFD\xAA\x03\x80\x00\x2A\x22\xF7\xAA", 15);
  EXPECT_EQ(DecodeImage("imagecodecs_packbits", encoded),
            std::string("\xAA\xAA\xAA\x80\x00\x2A\xAA\xAA\xAA\xAA\x80\x00\x2A\x22", 14) +
                std::string(10, '\xAA'));
  EXPECT_EQ(DecodeImage("imagecodecs_packbits", "\x80"), "") << "-128 is nothing";
}

TEST(PackBitsCodecTest, MistakesAreErrors) {
  EXPECT_THAT(DecodeImage("imagecodecs_packbits", "\5abc"), HasSubstr("without its bytes"));
  EXPECT_THAT(DecodeImage("imagecodecs_packbits", "\xFE"), HasSubstr("without its bytes"));
  EXPECT_THAT(DecodeImage("imagecodecs_packbits",
                          "\x81"
                          "a",
                          127),
              HasSubstr("decodes to more than expected"));
}

TEST(PredictorTest, NumbersAreSumsOfThoseOfTheSameSample) {
  uint8_t bytes[] = {1, 10, 1, 250, 1, 10, 1};
  UndoDifferences(1, 2, std::as_writable_bytes(std::span(bytes)));
  EXPECT_THAT(bytes, ElementsAre(1, 10, 2, 4, 3, 14, 4)) << "modulo 256, and half a pixel";
  uint16_t shorts[] = {65535, 1, 2, 3, 4, 5, 6, 7};
  UndoDifferences(2, 3, std::as_writable_bytes(std::span(shorts)));
  EXPECT_THAT(shorts, ElementsAre(65535, 1, 2, 2, 5, 7, 8, 12));
  uint32_t words[] = {1, 2, 3};
  UndoDifferences(4, 1, std::as_writable_bytes(std::span(words)));
  EXPECT_THAT(words, ElementsAre(1, 3, 6));
  uint64_t longs[] = {1, 2, 3};
  UndoDifferences(8, 9, std::as_writable_bytes(std::span(longs)));
  EXPECT_THAT(longs, ElementsAre(1, 2, 3)) << "a pixel of more samples than the row has";
}

TEST(PredictorTest, FloatsAreJoinedFromPlanes) {
  // 1.0 and 2.0 are 3F800000 and 40000000: planes 3F 40, 80 00, 00 00, 00 00 as differences.
  uint8_t row[] = {0x3F, 0x01, 0x40, 0x80, 0, 0, 0, 0};
  float floats[2];
  UndoFloatPredictor(4, 1, std::as_writable_bytes(std::span(row)),
                     std::as_writable_bytes(std::span(floats)));
  EXPECT_THAT(floats, ElementsAre(1.0f, 2.0f));
}

// Codecs before the bytes of an array, and the elements that become of them.
template <typename T>
std::vector<T> DecodeElements(std::string_view codecs, const model::Datatype& type,
                              const std::vector<uint64_t>& shape,
                              const std::vector<T>& stored) {
  const auto values = backends::Decode<T>(MakeChain(codecs, {type, shape}),
                                          std::as_bytes(std::span(stored)), shape);
  if (!values) {
    ADD_FAILURE() << values.error().message();
    return {};
  }
  return *values;
}

TEST(ImagePredictorTest, DifferencesAreAddedAlongAnAxis) {
  const std::vector<uint8_t> stored = {1, 2, 3, 250, 10, 20};
  for (const char* codec :
       {R"("imagecodecs_delta")", R"("HorizontalDeltaCodec")",
        R"({"name": "imagecodecs_delta", "configuration": {"axis": -1, "dist": 1}})",
        R"({"name": "imagecodecs_delta",
            "configuration": {"shape": [2, 3], "dtype": "|u1", "axis": 1}})"}) {
    const std::string codecs = fmt::format(R"([{}, "bytes"])", codec);
    EXPECT_THAT(DecodeElements(codecs, kUint8, {2, 3}, stored),
                ElementsAre(1, 3, 6, 250, 4, 24));
  }
  EXPECT_THAT(DecodeElements(
                  R"([{"name": "imagecodecs_delta", "configuration": {"axis": -2}}, "bytes"])",
                  kUint8, {2, 3}, stored),
              ElementsAre(1, 2, 3, 251, 12, 23))
      << "samples of a pixel are the last dimension";
}

TEST(ImagePredictorTest, NumbersMayBeBigEndian) {
  const std::vector<int16_t> stored = {0x0100, 0x0200, static_cast<int16_t>(0xFFFF)};
  EXPECT_THAT(DecodeElements<int16_t>(
                  R"(["HorizontalDeltaCodec",
                      {"name": "bytes", "configuration": {"endian": "big"}}])",
                  kInt16, {3}, stored),
              ElementsAre(1, 3, 2));
  const auto codec = MakeBytesToBytes(
      CodecDialect::kNumcodecs, "imagecodecs_delta",
      R"({"id": "imagecodecs_delta", "axis": -1, "dist": 1, "shape": [1, 3], "dtype": ">i2"})",
      {kInt16, {1, 3}});
  Bytes decoded(6);
  ASSERT_THAT(*codec->Decode(std::as_bytes(std::span(stored)), decoded.span()), 6u);
  EXPECT_THAT(ValuesOf<int16_t>(decoded.span()), ElementsAre(0x0100, 0x0300, 0x0200));
}

// 1.0 and 2.0 are 3F800000 and 40000000.
constexpr std::array<uint8_t, 8> kFloatPlanes = {0x3F, 0x01, 0x40, 0x80, 0, 0, 0, 0};

TEST(ImagePredictorTest, FloatsAreJoinedWhateverTheOrderOfBytesIs) {
  for (const char* endian : {"little", "big"}) {
    for (const char* members :
         {R"({})", R"({"axis": -1, "dist": 1})", R"({"shape": [1, 2], "dtype": "<f4"})"}) {
      const auto chain =
          MakeChain(fmt::format(R"([{{"name": "imagecodecs_floatpred", "configuration": {}}},
                          {{"name": "bytes", "configuration": {{"endian": "{}"}}}}])",
                                members, endian),
                    {model::Datatype::Float32(), {1, 2}});
      const auto values =
          backends::Decode<float>(chain, std::as_bytes(std::span(kFloatPlanes)), {1, 2});
      ASSERT_TRUE(values);
      EXPECT_THAT(*values, ElementsAre(1.0f, 2.0f));
    }
  }
  const auto codec =
      MakeBytesToBytes(CodecDialect::kNumcodecs, "imagecodecs_floatpred",
                       R"({"shape": [2], "dtype": ">f4"})", {model::Datatype::Float32(), {2}});
  Bytes decoded(8);
  ASSERT_TRUE(codec->Decode(std::as_bytes(std::span(kFloatPlanes)), decoded.span()));
  EXPECT_EQ(AsText(decoded.span()), std::string_view("\x3F\x80\0\0\x40\0\0\0", 8));
}

TEST(ImagePredictorTest, SamplesAreTheDimensionAfterTheAxis) {
  // Two pixels of two samples of float16: 3C00, 4000, 3C00, 4000 (1, 2, 1, 2). The planes are
  // 3C 40 3C 40 and zeros; a byte differs from the one two before it.
  const std::vector<uint8_t> planes = {0x3C, 0x40, 0, 0, 0xC4, 0xC0, 0, 0};
  const auto chain = MakeChain(
      R"([{"name": "imagecodecs_floatpred", "configuration": {"axis": -2}},
          {"name": "bytes", "configuration": {"endian": "little"}}])",
      {model::Datatype::Float("float16", 2), {1, 2, 2}});
  const auto values =
      backends::Decode<uint16_t>(chain, std::as_bytes(std::span(planes)), {1, 2, 2});
  ASSERT_TRUE(values);
  EXPECT_THAT(*values, ElementsAre(0x3C00, 0x4000, 0x3C00, 0x4000));
}

TEST(ImagePredictorTest, BytesWithoutATypeFollowEachOther) {
  const auto codec =
      MakeBytesToBytes(CodecDialect::kNumcodecs, "imagecodecs_delta", "{}", {kInt16, {2}});
  Bytes decoded(4);
  ASSERT_TRUE(codec->Decode(AsBytes("\1\2\3\4"), decoded.span()));
  EXPECT_EQ(AsText(decoded.span()), "\1\3\6\12");
}

TEST(ImagePredictorTest, OddSizesAreErrors) {
  const auto decode = [](std::string_view name, std::string_view configuration,
                         std::string_view encoded) {
    const auto codec = MakeBytesToBytes(CodecDialect::kNumcodecs, name, configuration,
                                        {model::Datatype::Float32(), {4}});
    Bytes decoded(16);
    const auto count = codec->Decode(AsBytes(encoded), decoded.span());
    return count ? "none" : count.error().message();
  };
  EXPECT_THAT(decode("imagecodecs_delta", R"({"dtype": "<u2"})", "abc"),
              HasSubstr("3 bytes, expected 2"));
  EXPECT_THAT(decode("imagecodecs_floatpred", R"({"dtype": "<f4", "shape": [3]})", "12345678"),
              HasSubstr("8 bytes, expected 12"));
  EXPECT_THAT(decode("imagecodecs_delta", "{}", "more than sixteen"),
              HasSubstr("decodes to more than expected"));
}

TEST(ImagePredictorTest, MembersThatAreWrongAreErrors) {
  const ChunkForm floats{model::Datatype::Float32(), {2, 3, 5}}, numbers{kInt16, {2, 3}};
  const auto wrong = [](std::string_view name, std::string_view configuration,
                        const ChunkForm& form, CodecDialect dialect = CodecDialect::kZarr3) {
    const auto codec = MakeCodecFrom(dialect, name, configuration, form);
    if (!codec) return codec.error().message();
    const auto* elements = std::get_if<std::shared_ptr<const ArrayToArrayCodec>>(&*codec);
    if (elements == nullptr) return std::string("none");
    const auto encoded = (*elements)->EncodedForm(form);
    return encoded ? "none" : encoded.error().message();
  };
  const std::string delta = "imagecodecs_delta", floatpred = "imagecodecs_floatpred";
  EXPECT_THAT(wrong(delta, R"({"axis": 2})", numbers), HasSubstr("axis: 2 for 2 dimensions"));
  EXPECT_THAT(wrong(delta, R"({"axis": 18446744073709551615})", numbers), HasSubstr("axis"));
  EXPECT_THAT(wrong(delta, R"({"axis": -3})", numbers), HasSubstr("axis: -3"));
  EXPECT_THAT(wrong(delta, R"({"axis": "x"})", numbers), HasSubstr("expected an integer"));
  EXPECT_THAT(wrong(delta, R"({"dist": 2})", numbers), HasSubstr("dist: 2 is not supported"));
  EXPECT_THAT(wrong(delta, R"({"astype": "<i4"})", numbers), HasSubstr("unknown member"));
  EXPECT_THAT(wrong(delta, R"({"shape": [3, 2]})", numbers), HasSubstr("shape"));
  EXPECT_THAT(wrong(delta, R"({"dtype": "<u4"})", numbers),
              HasSubstr("dtype: uint32 for elements of int16"));
  EXPECT_THAT(wrong(delta, "{}", floats), HasSubstr("differences of float32"));
  EXPECT_THAT(wrong("HorizontalDeltaCodec", "{}", floats), HasSubstr("differences of float32"));
  EXPECT_THAT(wrong(floatpred, "{}", numbers), HasSubstr("expected floats"));
  EXPECT_THAT(wrong(floatpred, R"({"axis": 0})", floats), HasSubstr("not one of the last two"));
  EXPECT_THAT(wrong(floatpred, R"({"dist": 2})", floats), HasSubstr("no multiple of 2"));
  EXPECT_THAT(wrong(floatpred, R"({"dist": 3})", floats), HasSubstr("dist: 3"));
  constexpr auto kV2 = CodecDialect::kNumcodecs;
  EXPECT_THAT(wrong(floatpred, R"({"shape": [3]})", floats, kV2), HasSubstr("\"dtype\""));
  EXPECT_THAT(wrong(floatpred, R"({"dtype": "<f4"})", floats, kV2), HasSubstr("\"shape\""));
  EXPECT_THAT(wrong(delta, R"({"shape": [3]})", numbers, kV2), HasSubstr("\"dtype\""));
  EXPECT_THAT(wrong(delta, R"({"dtype": "<u2", "shape": [3], "axis": 1})", numbers, kV2),
              HasSubstr("axis: 1 for 1 dimensions"));
}

TEST(ChunkyCodecTest, ElementsAreInFortranOrder) {
  const std::vector<uint8_t> stored = {1, 2, 3, 4, 5, 6};
  EXPECT_THAT(DecodeElements(R"(["ChunkyCodec"])", kUint8, {2, 3}, stored),
              ElementsAre(1, 3, 5, 2, 4, 6));
  // As virtual-tiff describes two samples of 1 x 3 pixels, stored as differences.
  const std::vector<int16_t> pixels = {0x0100, 0x0200, 0x0100, 0x0200, 0x0100, 0x0200};
  EXPECT_THAT(DecodeElements(R"(["HorizontalDeltaCodec",
                         {"name": "transpose", "configuration": {"order": [0, 2, 1]}},
                         {"name": "ChunkyCodec", "configuration": {"endian": "big"}}])",
                             kInt16, {2, 1, 3}, pixels),
              ElementsAre(1, 2, 3, 2, 4, 6));
  EXPECT_THAT(ConfigFailure("ChunkyCodec", R"({"endian": "middle"})", {kInt16, {2}}),
              HasSubstr("endian"));
  EXPECT_THAT(ConfigFailure("ChunkyCodec", R"({"endian": null})", {kInt16, {2}}),
              HasSubstr("endian"));
  EXPECT_THAT(ConfigFailure("ChunkyCodec", R"({"order": "F"})", {kInt16, {2}}),
              HasSubstr("unknown member"));
}

TEST(ImagecodecsTest, RawDeflateIsRefused) {
  EXPECT_THAT(FailureOf(MakeCodecFrom(CodecDialect::kNumcodecs, "imagecodecs_deflate",
                                      R"({"raw": true})", ByteForm(1)),
                        model::ErrorCode::kUnsupported),
              HasSubstr("raw: true is not supported"));
}

TEST(ImagecodecsTest, CompressorsHaveTheirOtherNames) {
  EXPECT_EQ(DecodeImage("imagecodecs_bitorder", "\x01\x80\x0c"), "\x80\x01\x30");
  const std::string stream("\x78\x01\x01\x02\x00\xfd\xff\x61\x62\x01\x26\x00\xc4", 13);
  for (const char* name : {"imagecodecs_zlib", "imagecodecs_zlibng", "imagecodecs_zopfli"}) {
    EXPECT_EQ(DecodeImage(name, stream), "ab") << name;
  }
  EXPECT_EQ(DecodeImage("imagecodecs_lz4", std::string("\2\0\0\0\x20hi", 7)), "hi");
  EXPECT_THAT(FailureOf(MakeCodecFrom(CodecDialect::kNumcodecs, "imagecodecs_lz4",
                                      R"({"header": false})", ByteForm(1)),
                        model::ErrorCode::kUnsupported),
              HasSubstr("header: false is not supported"));
  for (const char* name :
       {"imagecodecs_blosc", "imagecodecs_bz2", "imagecodecs_gzip", "imagecodecs_lzma"}) {
    EXPECT_TRUE(MakeCodecFrom(CodecDialect::kNumcodecs, name, R"({"level": 5})", ByteForm(1)))
        << name;
  }
}

TEST(ImagePredictorTest, ShapesOfTooManyElementsAreRefused) {
  const auto failure = [](int axis, std::string_view shape) {
    return MakeFailure(
        CodecDialect::kNumcodecs, "imagecodecs_delta",
        fmt::format(R"({{"dtype": "<u2", "axis": {}, "shape": {}}})", axis, shape),
        {kInt16, {2}}, model::ErrorCode::kLimit);
  };
  EXPECT_THAT(failure(1, "[1, 4294967296, 4294967296]"), HasSubstr("too many elements"));
  EXPECT_THAT(failure(1, "[1, 1, 4294967296, 4294967296]"), HasSubstr("too many elements"));
  EXPECT_THAT(failure(1, "[1, 4611686018427387904, 2]"), HasSubstr("too many elements"));
  EXPECT_THAT(failure(2, "[4294967296, 4294967296, 1]"), HasSubstr("too many elements"));
}

TEST(ChunkyCodecTest, EndianIsOneOfTwo) {
  const ChunkForm form{kInt16, {2}};
  EXPECT_TRUE(
      MakeCodecFrom(CodecDialect::kZarr3, "ChunkyCodec", R"({"endian": "little"})", form));
  EXPECT_THAT(
      MakeFailure(CodecDialect::kZarr3, "ChunkyCodec", "{}", {model::Datatype::String(), {2}}),
      HasSubstr("ChunkyCodec: string has no fixed size"));
}

// A strip that libtiff 4.5 wrote, with codes of 9 and of 10 bits.
TEST(LzwCodecTest, CodesBecomeWiderWhereLibtiffWidensThem) {
  constexpr std::string_view kStrip =
      "800001a1a140d88853311c50090502c182d271bd0161d17908aa683da3d46b766385ec10130f0a469402"
      "5d5cc66f3d8282d2317cf29356b21c6030f0e8ac7247ab192e60489c8a6441a8982e1030988e6844aa99"
      "8ee0a8e0b67e50b15d2121b97102a6663c83a4435a4972e1070d8be8858b6812332ea2166de070e8cc92"
      "5fbb03c4b3ca9daa091c19d2cc67b0acb88d5f3bc4c58452f5e0282da3d86f71899936d005904eeae728"
      "84b090640147c77583a450624e35c2e5246b24144641b00043f3eaedf23d3e2edf43f3fafc0a4643b201"
      "e5149b583c61523a062755d010928e6a07ccaac798fd0cce0d98d58f521a31ac2537ae81455503b07a89"
      "6b0a0eac20a98d62052a28de4474bb9c7a8e6f8d50ed91820dac2e40b545c826b8c50c6d86c461c41f12"
      "a76090501f02a95c060ca5f03a3b9a2189187388e518083017a0f8f86c8784d1f02e1760f8fc6f086518"
      "1235196189267a8b8808";
  std::string expected;
  for (size_t i = 0; i < 300; ++i) expected += static_cast<char>((i * i / 7 + i * 13) % 251);
  const std::string strip(AsText(FromHex(kStrip).span()));
  EXPECT_EQ(DecodeImage("imagecodecs_lzw", strip, 300), expected);
  EXPECT_THAT(DecodeImage("imagecodecs_lzw", strip, 299),
              HasSubstr("decodes to more than expected"));
}

TEST(LzwCodecTest, TheLastStringMayFillTheRoomThatIsLeft) {
  EXPECT_EQ(DecodeImage("imagecodecs_lzw", Codes({kClear, 'a', 258, 259, kEnd}), 6), "aaaaaa");
}

}  // namespace
}  // namespace ndlfs::backends
