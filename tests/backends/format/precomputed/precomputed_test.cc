// SPDX-License-Identifier: MIT
//
// Precomputed volumes as stores. Chunks and shards are written by hand after the specification.
#include "backends/format/precomputed/precomputed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "backends/codec/picture/picture.h"
#include "backends/format/precomputed/segmentation_codec.h"
#include "backends/format/precomputed/shard.h"
#include "model/attributes.h"
#include "model/base64.h"
#include "tests/backends/codec/picture_goldens.h"
#include "tests/support/memory_source.h"
#include "tests/support/read_array.h"
#include "tests/support/result.h"

namespace ndlfs::backends {
namespace {

using model::ErrorCode;
using precomputed::MurmurHash;
using precomputed::Sharding;
using test::IsError;
using test::IsOk;
using test::IsOkAnd;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

std::string Number(uint64_t value, size_t size) {
  std::string bytes;
  for (size_t i = 0; i < size; ++i) bytes += static_cast<char>(value >> 8 * i);
  return bytes;
}

// A volume of 3 x 2 x 1 voxels in chunks of 2 x 2 x 1; `more` are members of the scale.
std::string InfoOf(const std::string& more = "", const std::string& type = "uint8",
                   const std::string& encoding = "raw") {
  return R"({"@type": "neuroglancer_multiscale_volume", "data_type": ")" + type +
         R"(", "num_channels": 1, "type": "image", "scales": [{"key": "8_8_8", "size": [3, 2, 1],)"
         R"( "chunk_sizes": [[2, 2, 1]], "resolution": [8, 8, 8], "encoding": ")" +
         encoding + "\"" + more + "}]}";
}

class PrecomputedTest : public testing::Test {
 protected:
  model::Result<std::shared_ptr<const Hierarchy>> TryOpen(const std::string& info) {
    source_->Put("v/info", info);
    return PrecomputedFormat().Open(source_, "v", {});
  }
  void Open(const std::string& info) {
    auto opened = TryOpen(info);
    ASSERT_THAT(opened, IsOk());
    hierarchy_ = *std::move(opened);
  }
  void Put(const std::string& key, const std::string& bytes) {
    source_->Put("v/" + key, bytes);
  }
  std::shared_ptr<const Node> Load(const std::string& path = "/8_8_8") const {
    return hierarchy_->Load(path).value();
  }
  model::Result<std::string> Elements() const { return test::ReadWhole(*Load()->source); }

  const std::shared_ptr<test::MemorySource> source_ = test::MemorySource::Make();
  std::shared_ptr<const Hierarchy> hierarchy_;
};

TEST_F(PrecomputedTest, ChunksAreFilesNamedAfterTheirVoxels) {
  Put("8_8_8/0-2_0-2_0-1", "abcd");
  Put("8_8_8/2-3_0-2_0-1", "ef");
  Open(InfoOf());
  EXPECT_THAT(hierarchy_->List("/"), IsOkAnd(ElementsAre("8_8_8", "x", "y", "z")));
  EXPECT_THAT(Load()->array().dimension_names, ElementsAre("z", "y", "x"));
  EXPECT_THAT(Elements(), IsOkAnd("abecdf"));
}

TEST_F(PrecomputedTest, AScaleThatIsLongerThanTheOneBeforeIsNotMadeOfIt) {
  const auto scale = [](const std::string& key, const std::string& size) {
    return R"({"key": ")" + key + R"(", "size": [)" + size +
           R"(], "chunk_sizes": [[64, 64, 64]], "resolution": [1, 1, 1], "encoding": "raw"})";
  };
  Open(R"({"data_type": "uint8", "num_channels": 1, "type": "image", "scales": [)" +
       scale("other", "10, 1000, 70") + ',' + scale("quarter", "75, 50, 35") + ',' +
       scale("full", "300, 200, 70") + ',' + scale("half", "150, 100, 70") + "]}");
  const auto* text = model::FindAttribute(Load("/")->attributes(), "multiscales");
  ASSERT_NE(text, nullptr);
  EXPECT_EQ(*text->value.text(),
            R"({"layout":[{"asset":"full"},{"asset":"half","derived_from":"full"},)"
            R"({"asset":"other"},{"asset":"quarter","derived_from":"half"}]})");
}

TEST_F(PrecomputedTest, OffsetsAreInTheNames) {
  Put("8_8_8/-5--3_7-9_0-1", "abcd");
  Open(InfoOf(R"(, "voxel_offset": [-5, 7, 0])"));
  EXPECT_THAT(Elements(), IsOkAnd(std::string("ab\0cd\0", 6))) << "the other one is absent";
}

TEST_F(PrecomputedTest, AnotherSizeIsAnError) {
  Put("8_8_8/0-2_0-2_0-1", "abc");
  Open(InfoOf());
  EXPECT_THAT(Elements(), IsError(ErrorCode::kCorrupt, HasSubstr("3")));
}

TEST_F(PrecomputedTest, FilesMayBeCompressed) {
  Put("8_8_8/0-2_0-2_0-1", "abcd");
  // Of gzip, stored: "ef".
  Put("8_8_8/2-3_0-2_0-1.gz", std::string("\x1f\x8b\x08\0\0\0\0\0\0\xff\x01\x02\0\xfd\xff"
                                          "ef\x8f\xef\x46\x7b\x02\0\0\0",
                                          25));
  Open(InfoOf());
  const auto node = Load();
  test::PlainIndexCache indexes;
  const std::vector<uint64_t> first = {0, 0, 0}, second = {0, 0, 1};
  const auto plain = node->source->Locate(first, indexes),
             gzip = node->source->Locate(second, indexes);
  ASSERT_THAT(plain, IsOk());
  ASSERT_THAT(gzip, IsOk());
  EXPECT_EQ(plain->key, "8_8_8/0-2_0-2_0-1");
  EXPECT_EQ(plain->skip_codecs, 1u);
  EXPECT_EQ(gzip->key, "8_8_8/2-3_0-2_0-1.gz");
  EXPECT_EQ(gzip->skip_codecs, 0u);
}

TEST_F(PrecomputedTest, ChunksMayBePictures) {
  if (!HasPictures(PictureKind::kJpeg)) GTEST_SKIP() << "not built in";
  const auto decoded = [](const char* text) {
    const auto bytes = model::DecodeBase64(text).value();
    return std::string(AsText(bytes));
  };
  for (const PictureGolden& golden : kPictureGoldens) {
    if (golden.test_name != std::string_view("JpegGrey")) continue;
    // 11 sections of 17 x 1 voxels.
    std::string info = InfoOf("", "uint8", "jpeg");
    info.replace(info.find("[3, 2, 1]"), 9, "[17, 1, 11]");
    info.replace(info.find("[2, 2, 1]"), 9, "[17, 2, 11]");
    Put("8_8_8/0-17_0-1_0-11", decoded(golden.picture));
    Open(info);
    EXPECT_THAT(Elements(), IsOkAnd(decoded(golden.elements)));
    Put("8_8_8/0-17_0-1_0-11", "no picture");
    EXPECT_THAT(Elements(), IsError(ErrorCode::kCorrupt, HasSubstr("a JPEG picture")));
  }
}

// Shards.

TEST(PrecomputedShardTest, MortonCodesLeaveOutBitsThatAreNotNeeded) {
  using precomputed::MortonCode;
  EXPECT_THAT(MortonCode({0, 0, 0}, {4, 4, 4}), Optional(0u));
  EXPECT_THAT(MortonCode({1, 2, 3}, {4, 4, 4}), Optional(0b110101u));
  EXPECT_THAT(MortonCode({5, 1, 0}, {6, 2, 1}), Optional(0b1011u));
  const uint64_t many = uint64_t{1} << 30;
  EXPECT_EQ(MortonCode({0, 0, 0}, {many, many, many}), std::nullopt);
}

// As pymmh3 computes it.
TEST(PrecomputedShardTest, HashIsMurmurHash3) { EXPECT_EQ(MurmurHash(0), 0x4772b084e028ae41u); }

TEST(PrecomputedShardTest, NamesHaveAsManyDigitsAsBitsNeed) {
  Sharding sharding;
  sharding.shard_bits = 9;
  EXPECT_EQ(precomputed::NameOfShard(sharding, 0xA), "00a.shard");
  sharding.shard_bits = 0;
  EXPECT_EQ(precomputed::NameOfShard(sharding, 0), "0.shard");
}

TEST(PrecomputedShardTest, IndexesThatOverflowAreErrors) {
  const Sharding sharding;
  const std::string max(8, '\xFF');
  EXPECT_THAT(precomputed::IndexRange(sharding, AsBytes(Number(5, 8) + Number(4, 8))),
              IsError(ErrorCode::kCorrupt, HasSubstr("from 5 to 4")));
  EXPECT_THAT(precomputed::IndexRange(sharding, AsBytes("\xF5" + max.substr(1) + max)),
              IsError(ErrorCode::kCorrupt, HasSubstr("an index of a minishard")));
  EXPECT_THAT(precomputed::FindChunk(sharding, AsBytes("1234"), 0),
              IsError(ErrorCode::kCorrupt, HasSubstr("4 bytes")));
  EXPECT_THAT(precomputed::FindChunk(sharding, AsBytes(Number(0, 8) + Number(1, 8) + max), 0),
              IsError(ErrorCode::kCorrupt, HasSubstr("behind all files")));
}

TEST_F(PrecomputedTest, ChunksAreFoundInShards) {
  // One shard with one minishard: two chunks, and the index behind them.
  const std::string index =
      Number(0, 8) + Number(1, 8) + Number(0, 8) + Number(0, 8) + Number(4, 8) + Number(2, 8);
  Put("8_8_8/0.shard", Number(6, 8) + Number(6 + index.size(), 8) + "abcdef" + index);
  Open(InfoOf(R"(, "sharding": {"@type": "neuroglancer_uint64_sharded_v1", "preshift_bits": 0,)"
              R"( "hash": "identity", "minishard_bits": 0, "shard_bits": 0})"));
  EXPECT_THAT(Elements(), IsOkAnd("abecdf"));
}

TEST_F(PrecomputedTest, IndexesThatOverlapChunksAreErrors) {
  // The second chunk begins within the index.
  const std::string index =
      Number(0, 8) + Number(1, 8) + Number(0, 8) + Number(2, 8) + Number(4, 8) + Number(2, 8);
  Put("8_8_8/0.shard", Number(6, 8) + Number(6 + index.size(), 8) + "abcdef" + index);
  Open(InfoOf(R"(, "sharding": {"@type": "neuroglancer_uint64_sharded_v1", "preshift_bits": 0,)"
              R"( "hash": "identity", "minishard_bits": 0, "shard_bits": 0})"));
  EXPECT_THAT(Elements(), IsError(ErrorCode::kCorrupt,
                                  HasSubstr("chunk 1, 2 bytes at 22, overlaps the "
                                            "index of its minishard, 48 bytes at 22")));
}

TEST(PrecomputedShardTest, ChunksThatAreThereTwiceAreErrors) {
  const std::string twice = Number(3, 8) + Number(0, 8) + std::string(32, '\0');
  EXPECT_THAT(precomputed::FindChunk(Sharding(), AsBytes(twice), 9),
              IsError(ErrorCode::kCorrupt, HasSubstr("chunk 3 behind chunk 3")));
  const std::string back = Number(3, 8) + std::string(8, '\xFF') + std::string(32, '\0');
  EXPECT_THAT(precomputed::FindChunk(Sharding(), AsBytes(back), 9),
              IsError(ErrorCode::kCorrupt, HasSubstr("chunk 2 behind chunk 3")));
}

TEST_F(PrecomputedTest, ShardThatIsNotThereIsAbsent) {
  Open(InfoOf(R"(, "sharding": {"@type": "neuroglancer_uint64_sharded_v1", "preshift_bits": 0,)"
              R"( "hash": "murmurhash3_x86_128", "minishard_bits": 1, "shard_bits": 4})"));
  EXPECT_THAT(Elements(), IsOkAnd(std::string(6, '\0')));
}

// compressed_segmentation.

TEST(SegmentationTest, LabelsAreNumbersOfATable) {
  // One block of 2 x 1 x 1 with one bit each: a header, the values, the table.
  const std::string encoded = Number(1, 4) + Number(3 | 1 << 24, 4) + Number(2, 4) +
                              Number(0b10, 4) + Number(70, 4) + Number(80, 4);
  const auto codec = precomputed::MakeSegmentationCodec({2, 1, 1});
  const ChunkForm form{model::Datatype::Integer(4, false), {1, 1, 2}};
  std::string decoded(8, '\0');
  const auto decode = [&](const std::string& bytes) {
    return codec->Decode(AsBytes(bytes), form, std::as_writable_bytes(std::span(decoded)));
  };
  ASSERT_THAT(decode(encoded), IsOk());
  EXPECT_EQ(decoded, Number(70, 4) + Number(80, 4));
  for (size_t size = 0; size < encoded.size(); ++size) {
    EXPECT_FALSE(decode(encoded.substr(0, size))) << size;
  }
  EXPECT_THAT(decode(Number(1, 4) + Number(3 | 3 << 24, 4) + Number(2, 4) + encoded),
              IsError(ErrorCode::kCorrupt, HasSubstr("labels of 3 bits")));
  EXPECT_THAT(decode(Number(900, 4)), IsError(ErrorCode::kCorrupt, HasSubstr("channel 0")));
}

// Mistakes in the document.

TEST_F(PrecomputedTest, MistakesAreNamed) {
  const auto error_of = [&](const std::string& info) {
    auto opened = TryOpen(info);
    if (!opened) return opened.error().message();
    const auto node = (*opened)->Load("/8_8_8");
    return node && (*node)->error ? (*node)->error->message() : std::string("no error");
  };
  const auto with = [&](std::string from, const std::string& to) {
    std::string info = InfoOf();
    return info.replace(info.find(from), from.size(), to);
  };
  EXPECT_THAT(error_of("{}"), HasSubstr("data_type"));
  EXPECT_THAT(error_of(InfoOf("", "string")), HasSubstr("data_type: \"string\""));
  EXPECT_THAT(error_of(with("[3, 2, 1]", "[3, 2]")), HasSubstr("size: expected three numbers"));
  EXPECT_THAT(error_of(with("[3, 2, 1]", "[3, 0, 1]")), HasSubstr("size: expected positive"));
  EXPECT_THAT(error_of(with("[[2, 2, 1]]", "[]")), HasSubstr("chunk_sizes"));
  EXPECT_THAT(error_of(with("\"8_8_8\"", "\"../secret\"")), HasSubstr("key: \"../secret\""));
  EXPECT_THAT(error_of(with("[3, 2, 1]", "[1000000000000000, 1000000000000000, 1]")),
              HasSubstr("too many elements"));
  EXPECT_THAT(error_of(InfoOf("", "uint16", "jpeg")),
              HasSubstr("jpeg of 1 channels of uint16"));
  EXPECT_THAT(error_of(InfoOf("", "uint8", "jxl")), HasSubstr("encoding \"jxl\""));
  EXPECT_THAT(error_of(InfoOf("", "uint8", "compressed_segmentation")),
              HasSubstr("compressed_segmentation_block_size"));
  EXPECT_THAT(error_of(InfoOf(R"(, "voxel_offset": [1e30, 0, 0])")), HasSubstr("voxel_offset"));
  EXPECT_THAT(error_of(InfoOf(R"(, "sharding": {"@type": "other"})")),
              HasSubstr("sharding: @type: \"other\""));
  EXPECT_THAT(
      error_of(InfoOf(R"(, "sharding": {"@type": "neuroglancer_uint64_sharded_v1",)"
                      R"( "preshift_bits": 0, "hash": "identity", "minishard_bits": 60,)"
                      R"( "shard_bits": 60})")),
      HasSubstr("60 and 60 bits are too many"));
}

}  // namespace
}  // namespace ndlfs::backends
