// SPDX-License-Identifier: MIT
#include "backends/format/chunk_encoding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ndlfs::backends {
namespace {

using model::ByteOrder;
using model::Datatype;

const Datatype kShort = Datatype::Integer(2, true);
const Datatype kBigShort = kShort.WithOrder(ByteOrder::kBig);

Json Parse(const char* text) { return Json::parse(text); }

TEST(ChunkEncoding, WordsOfVersion2BecomeThoseOfVersion3) {
  const auto encoding = DescribeZarr2Encoding(
      kBigShort, Parse(R"([{"id":"shuffle","elementsize":2}])"),
      Parse(R"({"id":"blosc","cname":"zstd","clevel":3,"shuffle":-1,"blocksize":0})"), true, 2);
  ASSERT_TRUE(encoding && encoding->zarr2 && encoding->zarr3);
  EXPECT_EQ(*encoding->zarr3, Parse(R"([
      {"name":"transpose","configuration":{"order":[1,0]}},
      {"name":"bytes","configuration":{"endian":"big"}},
      {"name":"numcodecs.shuffle","configuration":{"elementsize":2}},
      {"name":"blosc","configuration":{"cname":"zstd","clevel":3,"shuffle":"shuffle","typesize":2,
       "blocksize":0}}])"));
  EXPECT_EQ((*encoding->zarr2)["order"], "F");
  EXPECT_EQ((*encoding->zarr2)["compressor"]["id"], "blosc");
  EXPECT_EQ(encoding->bytes_codecs->size(), 2);
  EXPECT_TRUE(encoding->is_fortran);
}

// Whoever writes a chunk in their form has to know in which order its elements are.
TEST(ChunkEncoding, TellsTheOrderOfElements) {
  const Json gzip = Parse(R"({"id":"gzip","level":1})");
  EXPECT_TRUE(DescribeZarr2Encoding(kShort, Json(), gzip, true, 2)->is_fortran);
  EXPECT_FALSE(DescribeZarr2Encoding(kShort, Json(), gzip, false, 2)->is_fortran);
  EXPECT_FALSE(DescribeZarr2Encoding(kShort, Json(), gzip, true, 1)->is_fortran);
  const auto turned = DescribeZarr3Encoding(
      kShort,
      Parse(R"([{"name":"transpose","configuration":{"order":[1,0]}},{"name":"bytes"}])"), 2);
  ASSERT_TRUE(turned && turned->bytes_codecs);
  EXPECT_TRUE(turned->is_fortran);
  EXPECT_FALSE(DescribeZarr3Encoding(kShort, Parse(R"(["bytes"])"), 2)->is_fortran);
}

TEST(ChunkEncoding, WordsOfVersion3BecomeThoseOfVersion2) {
  const auto encoding = DescribeZarr3Encoding(
      kShort, Parse(R"(["bytes", {"name":"blosc","configuration":{"cname":"lz4","clevel":5,
          "shuffle":"bitshuffle","typesize":2,"blocksize":0}}])"),
      2);
  ASSERT_TRUE(encoding && encoding->zarr2 && encoding->zarr3);
  EXPECT_EQ(*encoding->zarr2, Parse(R"({"order":"C","filters":null,"compressor":
                 {"id":"blosc","cname":"lz4","clevel":5,"shuffle":2,"blocksize":0}})"));
  EXPECT_EQ((*encoding->zarr3)[0],
            Parse(R"({"name":"bytes","configuration":{"endian":"little"}})"));
}

TEST(ChunkEncoding, ChecksumIsSaidInVersion3Alone) {
  const auto encoding =
      DescribeZarr3Encoding(kShort, Parse(R"([{"name":"bytes"},{"name":"crc32c"}])"), 1);
  ASSERT_TRUE(encoding && encoding->zarr3);
  EXPECT_FALSE(encoding->zarr2);
  EXPECT_FALSE(encoding->bytes_codecs);
}

TEST(ChunkEncoding, TransposesOtherThanOrderFAreSaidInVersion3Alone) {
  const char* const codecs =
      R"([{"name":"transpose","configuration":{"order":[1,0,2]}},{"name":"bytes"},{"name":"gzip",
          "configuration":{"level":1}}])";
  const auto encoding = DescribeZarr3Encoding(kShort, Parse(codecs), 3);
  ASSERT_TRUE(encoding && encoding->zarr3);
  EXPECT_FALSE(encoding->zarr2);
  EXPECT_EQ((*encoding->zarr3)[0]["configuration"]["order"], Parse("[1,0,2]"));
}

TEST(ChunkEncoding, FiltersThatChangeElementsAreSaidInVersion2Alone) {
  const auto encoding =
      DescribeZarr2Encoding(kShort, Parse(R"([{"id":"delta","dtype":"<i2"}])"),
                            Parse(R"({"id":"zlib","level":1})"), false, 1);
  ASSERT_TRUE(encoding && encoding->zarr2);
  EXPECT_FALSE(encoding->zarr3);
  EXPECT_FALSE(encoding->bytes_codecs);
}

TEST(ChunkEncoding, TextsHaveTheirCodecFirst) {
  const auto encoding =
      DescribeZarr2Encoding(Datatype::String(), Parse(R"([{"id":"vlen-utf8"}])"),
                            Parse(R"({"id":"zstd","level":1})"), false, 1);
  ASSERT_TRUE(encoding && encoding->zarr3);
  EXPECT_EQ((*encoding->zarr3)[0]["name"], "vlen-utf8");
  EXPECT_EQ((*encoding->zarr3)[1]["name"], "zstd");
  EXPECT_FALSE(DescribeZarr2Encoding(Datatype::String(), Parse(R"([{"id":"json2"}])"), Json(),
                                     false, 1));
}

TEST(ChunkEncoding, WhatFewProgramsKnowIsNotSaid) {
  for (const char* const codec : {R"({"id":"pcodec"})", R"({"id":"zfpy"})", R"({"id":7})", "7",
                                  R"({"id":"fletcher32"})", R"({"id":"pickle"})"}) {
    EXPECT_FALSE(DescribeZarr2Encoding(kShort, Json(), Parse(codec), false, 1)) << codec;
  }
  for (const char* const codecs :
       {R"([{"name":"bytes"},{"name":"numcodecs.pcodec"}])", R"([{"name":"sharding_indexed"}])",
        R"([{"name":"gzip"},{"name":"bytes"}])", R"([{"name":"bytes"},{"name":"bytes"}])", "[]",
        R"([{"name":"transpose","configuration":{"order":"F"}},{"name":"bytes"}])"}) {
    EXPECT_FALSE(DescribeZarr3Encoding(kShort, Parse(codecs), 2)) << codecs;
  }
  EXPECT_FALSE(DescribeEncoding(kShort, Parse(R"([{"id":"delta"}])")));
}

TEST(ChunkEncoding, ByteOrderOfStructsIsNotSaid) {
  const Datatype pair = Datatype::PackedCompound({{"a", kShort, 0}, {"b", kShort, 0}});
  EXPECT_TRUE(DescribeEncoding(pair, Json::array()));
  EXPECT_FALSE(DescribeEncoding(pair.WithOrder(ByteOrder::kBig), Json::array()));
  EXPECT_TRUE(DescribeEncoding(kBigShort, Json::array()));
}

// Parameters of compressing are taken from files that may say anything.
TEST(ChunkEncoding, ParametersMakeSense) {
  const auto encoding =
      DescribeZarr2Encoding(kShort, Json(), Parse(R"({"id":"gzip","level":"x"})"), false, 1);
  ASSERT_TRUE(encoding && encoding->zarr3);
  EXPECT_EQ((*encoding->zarr3)[1]["configuration"]["level"], 1);
  const auto zstd = DescribeZarr2Encoding(
      kShort, Json(), Parse(R"({"id":"zstd","level":-99999999})"), false, 1);
  ASSERT_TRUE(zstd && zstd->zarr3);
  EXPECT_EQ((*zstd->zarr3)[1]["configuration"]["level"], 0);
}

}  // namespace
}  // namespace ndlfs::backends
