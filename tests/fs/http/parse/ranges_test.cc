// SPDX-License-Identifier: MIT
#include "fs/http/parse/ranges.h"

#include <gmock/gmock.h>

#include <string>

namespace ndlfs::fs {
namespace {

using testing::ElementsAre;
using Kind = RangeRequest::Kind;

constexpr uint64_t kSize = 10'000;

Kind KindOf(std::string_view field, uint64_t size = kSize) {
  return ParseRanges(field, size).kind;
}

// The examples of RFC 9110, section 14.1.2.
TEST(RangesTest, ExamplesOfTheStandard) {
  EXPECT_THAT(ParseRanges("bytes=0-499", kSize).parts, ElementsAre(FileRange{0, 500}));
  EXPECT_THAT(ParseRanges("bytes=500-999", kSize).parts, ElementsAre(FileRange{500, 500}));
  EXPECT_THAT(ParseRanges("bytes=-500", kSize).parts, ElementsAre(FileRange{9500, 500}));
  EXPECT_THAT(ParseRanges("bytes=9500-", kSize).parts, ElementsAre(FileRange{9500, 500}));
  EXPECT_THAT(ParseRanges("bytes=0-0,-1", kSize).parts,
              ElementsAre(FileRange{0, 1}, FileRange{9999, 1}));
  EXPECT_THAT(ParseRanges("bytes= 0-999, 4500-5499, -1000", kSize).parts,
              ElementsAre(FileRange{0, 1000}, FileRange{4500, 1000}, FileRange{9000, 1000}));
}

TEST(RangesTest, EndsAreClipped) {
  EXPECT_THAT(ParseRanges("bytes=9990-99999999999999999999999", kSize).parts,
              ElementsAre(FileRange{9990, 10}));
  EXPECT_THAT(ParseRanges("bytes=-99999999999999999999999", kSize).parts,
              ElementsAre(FileRange{0, kSize}));
  EXPECT_THAT(ParseRanges("Bytes=0-", kSize).parts, ElementsAre(FileRange{0, kSize}));
}

TEST(RangesTest, WhatHasNoByteOfTheFileIsUnsatisfiable) {
  EXPECT_EQ(KindOf("bytes=10000-"), Kind::kUnsatisfiable);
  EXPECT_EQ(KindOf("bytes=-0"), Kind::kUnsatisfiable);
  EXPECT_EQ(KindOf("bytes=0-", 0), Kind::kUnsatisfiable);
  EXPECT_EQ(KindOf("bytes=-1", 0), Kind::kUnsatisfiable);
  EXPECT_EQ(KindOf("bytes=99999999999999999999-"), Kind::kUnsatisfiable);
  EXPECT_THAT(ParseRanges("bytes=10000-,5-5", kSize).parts, ElementsAre(FileRange{5, 1}));
}

TEST(RangesTest, WhatIsNoRangeMeansTheWholeFile) {
  for (const char* field : {"", "bytes", "bytes=", "bytes=,", "lines=0-1", "bytes=a-b",
                            "bytes=1", "bytes=5-4", "bytes=--1", "bytes=+1-2", "bytes=1-2;3-4",
                            "bytes=0x1-2", "bytes=1 -2", "bytes=0-1,x", "bytes=-"}) {
    EXPECT_EQ(KindOf(field), Kind::kWhole) << field;
  }
}

TEST(RangesTest, TooManyRangesAreRefused) {
  std::string field = "bytes=0-0";
  for (size_t i = 1; i < kMostRanges; ++i) field += ",0-0";
  EXPECT_EQ(KindOf(field), Kind::kParts);
  EXPECT_EQ(KindOf(field + ",0-0"), Kind::kUnsatisfiable);
  for (size_t i = 0; i < 100'000; ++i) field += ",1-";
  EXPECT_EQ(KindOf(field), Kind::kUnsatisfiable);
}

TEST(RangesTest, NoByteIsSentTwice) {
  EXPECT_THAT(ParseRanges("bytes=0-,0-,5-9", kSize).parts, ElementsAre(FileRange{0, kSize}));
  EXPECT_THAT(ParseRanges("bytes=5-9,0-4", kSize).parts, ElementsAre(FileRange{0, 10}));
  EXPECT_THAT(ParseRanges("bytes=20-29,5-9,0-6,-1", kSize).parts,
              ElementsAre(FileRange{0, 10}, FileRange{20, 10}, FileRange{9999, 1}));
  EXPECT_THAT(ParseRanges("bytes=20-29,5-9", kSize).parts,
              ElementsAre(FileRange{20, 10}, FileRange{5, 5}));
  const auto whole = ParseRanges("bytes=0-18446744073709551615,1-18446744073709551615", kSize);
  EXPECT_THAT(whole.parts, ElementsAre(FileRange{0, kSize}));
}

}  // namespace
}  // namespace ndlfs::fs
