// SPDX-License-Identifier: MIT
//
// Codecs of TIFF under the names that Zarr metadata give them, with the examples of TIFF 6.0.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "backends/codec/predictor.h"
#include "backends/codec/registry.h"
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

}  // namespace
}  // namespace ndlfs::backends
