// SPDX-License-Identifier: MIT
#include "cache/chunk_parts.h"

#include <blosc.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "cache/chunk_ledger.h"
#include "cache/load_counts.h"
#include "tests/support/chunk_source.h"

namespace ndlfs::cache {
namespace {

using backends::ByteSpan;
using backends::ChunkGrid;
using model::Datatype;
using test::RandomElements;
using test::TestSource;
using testing::HasSubstr;

constexpr uint64_t kBlock = 64 << 10;
constexpr uint64_t kChunk = 8 * kBlock;

// Zstandard, for which the library takes the size of blocks as it is given.
std::string Encoded(const std::string& decoded, uint64_t block = kBlock) {
  std::string encoded(decoded.size() + BLOSC_MAX_OVERHEAD, '\0');
  const int size = blosc_compress_ctx(1, BLOSC_SHUFFLE, 4, decoded.size(), decoded.data(),
                                      encoded.data(), encoded.size(), "zstd", block, 1);
  EXPECT_GT(size, 0);
  encoded.resize(static_cast<size_t>(size));
  return encoded;
}

// Elements that a compressor makes smaller.
std::string Elements(size_t size, unsigned seed = 5) {
  std::mt19937 random(seed);
  std::string elements(size, '\0');
  for (size_t i = 0; i < size; i += 4) {
    const auto value = static_cast<uint32_t>(i / 64 + random() % 16);
    std::memcpy(elements.data() + i, &value, 4);
  }
  return elements;
}

// Twelve chunks of 512 KiB, 2 x 256 x 256 of 4 x 512 x 768, in 8 blocks each.
class ChunkPartsTest : public testing::Test {
 protected:
  ChunkPartsTest() : ChunkPartsTest("") {}
  explicit ChunkPartsTest(std::string_view more_codecs,
                          const std::vector<uint64_t>& chunk = {2, 256, 256})
      : source_(std::make_shared<TestSource>(
            Datatype::Float32(),
            ChunkGrid::Regular({4, 512, 768}, chunk, ChunkGrid::Edge::kFull).value())),
        elements_(Elements(4 * 512 * 768 * 4)) {
    const std::string codecs = fmt::format(
        R"([{{"name": "bytes", "configuration": {{"endian": "little"}}}}, "blosc"{}])",
        more_codecs);
    source_->spec_.codecs =
        backends::MakeZarr3Chain(*backends::ParseJson(codecs),
                                 {source_->spec_.dtype, source_->spec_.grid.max_chunk_shape()})
            .value();
    PutChunks(*source_, elements_);
    for (const std::string& key : Keys()) Put(key, Encoded(Get(key)));
  }

  std::vector<std::string> Keys() const {
    std::vector<std::string> keys;
    const auto entries = source_->store_->List("").value();
    for (const backends::StoreEntry& entry : entries) keys.push_back(entry.name);
    return keys;
  }
  std::string Get(const std::string& key) const {
    std::string value(*source_->store_->Size(key).value(), '\0');
    EXPECT_TRUE(source_->store_->ReadInto(key, 0, std::as_writable_bytes(std::span(value))));
    return value;
  }
  void Put(const std::string& key, const std::string& value) {
    source_->store_->Put(key, value);
  }

  const ArrayReader& reader() {
    if (!reader_) reader_ = std::make_unique<ArrayReader>(source_, cache_, ledger_);
    return *reader_;
  }
  model::Result<std::string> TryRead(uint64_t offset, size_t size,
                                     ReadHint hint = ReadHint::kAlone) {
    std::string out(size, '?');
    NDLFS_RETURN_IF_ERROR(reader().Read(offset, std::as_writable_bytes(std::span(out)),
                                        model::ByteOrder::kLittle, hint));
    return out;
  }
  void ExpectRead(uint64_t offset, size_t size, ReadHint hint = ReadHint::kAlone) {
    const auto read = TryRead(offset, size, hint);
    ASSERT_TRUE(read) << read.error().message();
    ASSERT_TRUE(*read == elements_.substr(offset, size)) << offset << " + " << size;
  }
  // Where element [z, y, x] begins.
  static uint64_t At(uint64_t z, uint64_t y, uint64_t x) {
    return ((z * 512 + y) * 768 + x) * 4;
  }
  uint64_t parts() const { return cache_.stats().parts; }
  uint64_t chunks() const { return cache_.stats().misses; }

  const std::shared_ptr<TestSource> source_;
  const std::string elements_;
  ChunkCache cache_{16 << 20};
  std::shared_ptr<ChunkLedger> ledger_;
  std::unique_ptr<ArrayReader> reader_;
};

TEST_F(ChunkPartsTest, ALittleThatIsReadAloneIsDecodedWithoutTheRest) {
  const size_t encoded = Get("c0.1.0").size();
  const size_t before = source_->store_->bytes_read();
  ExpectRead(At(1, 300, 20), 800);
  EXPECT_EQ(parts(), 1u);
  EXPECT_EQ(chunks(), 0u);
  EXPECT_EQ(cache_.stats().loaded_bytes, kBlock);
  EXPECT_LT(source_->store_->bytes_read() - before, encoded / 3);
  EXPECT_EQ(reader().counts().decoded_parts, 1u);
  EXPECT_EQ(reader().counts().decoded, 0u);
  EXPECT_EQ(reader().counts().decoded_bytes, kBlock);
}

TEST_F(ChunkPartsTest, WhatIsReadAgainIsNotDecodedAgain) {
  ExpectRead(At(1, 300, 20), 800);
  ExpectRead(At(1, 310, 30), 800);  // the same block
  EXPECT_EQ(parts(), 1u);
  ExpectRead(At(0, 300, 20), 800);  // another one of that chunk
  EXPECT_EQ(parts(), 2u);
  EXPECT_EQ(chunks(), 0u);
}

TEST_F(ChunkPartsTest, AllPartsOfAChunkTakeNoMoreThanTheChunk) {
  for (int round = 0; round < 2; ++round) {
    for (uint64_t z = 0; z < 2; ++z) {
      for (uint64_t y = 0; y < 256; ++y) ExpectRead(At(z, y, 0), 1024);
    }
  }
  EXPECT_EQ(parts(), 8u);
  EXPECT_EQ(cache_.stats().loaded_bytes, kChunk);
}

TEST_F(ChunkPartsTest, AReaderThatGoesOnGetsWholeChunksOnce) {
  for (uint64_t offset = 0; offset < elements_.size(); offset += 16 << 10) {
    ExpectRead(offset, 16 << 10, ReadHint::kOnward);
  }
  EXPECT_EQ(parts(), 0u);
  EXPECT_EQ(chunks(), 12u);
}

TEST_F(ChunkPartsTest, AChunkInTheCacheIsNotDecodedInParts) {
  ExpectRead(At(0, 0, 0), 100, ReadHint::kOnward);
  ExpectRead(At(1, 100, 100), 100);
  EXPECT_EQ(parts(), 0u);
  EXPECT_EQ(chunks(), 1u);
}

TEST_F(ChunkPartsTest, OfWhatIsLargeAChunkIsDecodedAsAWhole) {
  ExpectRead(At(0, 0, 0), 64 << 10);  // 22 rows: two thirds of a block of each chunk
  EXPECT_EQ(parts(), 3u);
  ExpectRead(At(0, 0, 0), 512 << 10);  // 171 rows: three of eight blocks
  EXPECT_EQ(parts(), 3u);
  EXPECT_EQ(chunks(), 3u);
}

TEST_F(ChunkPartsTest, PartsAreDecodedUpToAQuarterOfAChunk) {
  ExpectRead(At(0, 0, 0), 128 * 3072);  // two blocks of three chunks, to their last byte
  EXPECT_EQ(chunks(), 0u);
  EXPECT_EQ(parts(), 6u);
  ExpectRead(At(0, 0, 0), 129 * 3072);  // a row of a third block
  EXPECT_EQ(chunks(), 3u);
  EXPECT_EQ(parts(), 6u);
}

TEST_F(ChunkPartsTest, WhatBeginsAtTheEndOfABlockTakesTheNextOneToo) {
  ExpectRead(At(0, 63, 0), 1024);  // the last row of the first block
  EXPECT_EQ(parts(), 1u);
  ExpectRead(At(0, 127, 0),
             3072 + 4);  // of the first chunk the last row of the second, and one element
  EXPECT_EQ(parts(), 5u);
  EXPECT_EQ(chunks(), 0u);
}

TEST_F(ChunkPartsTest, HitsOfPartsAreCounted) {
  ExpectRead(At(1, 300, 20), 800);
  EXPECT_EQ(reader().counts().hits, 0u);
  ExpectRead(At(1, 310, 30), 800);
  EXPECT_EQ(reader().counts().hits, 1u);
}

TEST_F(ChunkPartsTest, SmallBlocksAreDecodedSeveralAtATime) {
  for (const std::string& key : Keys()) {
    Put(key, Encoded(elements_.substr(0, kChunk), kBlock / 4));
  }
  EXPECT_EQ(TryRead(At(0, 0, 0), 100).value(), elements_.substr(0, 100));
  EXPECT_EQ(cache_.stats().loaded_bytes, kBlock);
}

TEST_F(ChunkPartsTest, APartIsAWholeNumberOfBlocksAndTheLastOneMayBeShorter) {
  for (const std::string& key : Keys()) {
    Put(key, Encoded(elements_.substr(0, kChunk), kBlock / 4 * 3));
  }
  EXPECT_EQ(TryRead(At(0, 0, 0), 100).value(), elements_.substr(0, 100));
  EXPECT_EQ(cache_.stats().loaded_bytes, kBlock / 2 * 3);
  // 512 KiB are five parts of 96 KiB, and 32 KiB.
  EXPECT_EQ(TryRead(At(1, 255, 0), 1024).value(), elements_.substr(kChunk - 1024, 1024));
  EXPECT_EQ(cache_.stats().loaded_bytes, kBlock / 2 * 3 + kBlock / 2);
}

class SmallestChunksWithPartsTest : public ChunkPartsTest {
 protected:
  SmallestChunksWithPartsTest() : ChunkPartsTest("", {1, 256, 256}) {}
};

TEST_F(SmallestChunksWithPartsTest, FourBlocksAreEnough) {
  ExpectRead(At(0, 0, 0), 100);
  EXPECT_EQ(parts(), 1u);
  EXPECT_EQ(chunks(), 0u);
}

class ChunksTooSmallForPartsTest : public ChunkPartsTest {
 protected:
  ChunksTooSmallForPartsTest() : ChunkPartsTest("", {1, 255, 256}) {}
};

TEST_F(ChunksTooSmallForPartsTest, AreDecodedAsAWhole) {
  ExpectRead(At(0, 0, 0), 100);
  EXPECT_EQ(parts(), 0u);
  EXPECT_EQ(chunks(), 1u);
}

TEST_F(ChunkPartsTest, AnyRangeIsThatOfTheElementStream) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    const uint64_t offset = random() % elements_.size();
    const uint64_t size =
        random() % std::min<uint64_t>(elements_.size() - offset, round % 2 ? 5000 : 200'000);
    ExpectRead(offset, size, round % 7 ? ReadHint::kAlone : ReadHint::kOnward);
  }
  EXPECT_GT(parts(), 0u);
}

TEST_F(ChunkPartsTest, PartsAreChargedAndLeaveLikeChunks) {
  ChunkCache small(5 * kBlock + backends::RangeMemory(kBlock));
  const ArrayReader reader(source_, small);
  std::string out(400, '?');
  for (uint64_t y = 0; y < 512; y += 16) {
    ASSERT_TRUE(reader.Read(At(0, y, 600), std::as_writable_bytes(std::span(out)),
                            model::ByteOrder::kLittle, ReadHint::kAlone));
    ASSERT_TRUE(out == elements_.substr(At(0, y, 600), 400));
    EXPECT_LE(small.stats().used_bytes, small.budget_bytes());
  }
  EXPECT_EQ(small.stats().parts, 8u);
  EXPECT_GE(small.stats().evictions, 3u);
}

TEST_F(ChunkPartsTest, AnAbsentChunkIsFilled) {
  source_->store_->Remove("c0.0.1");
  source_->spec_.fill.assign(4, std::byte{'f'});
  EXPECT_EQ(TryRead(At(1, 20, 300), 40).value(), std::string(40, 'f'));
  EXPECT_EQ(parts(), 0u);
}

TEST_F(ChunkPartsTest, AChunkThatCannotBeDecodedFailsAsItDoesAsAWhole) {
  const std::string sound = Get("c1.0.0");
  for (const std::string& damaged :
       {sound.substr(0, 10), sound.substr(0, sound.size() - 1), std::string("no such thing"),
        std::string(sound).replace(16, 32, 32, '\xff')}) {
    Put("c1.0.0", damaged);
    const auto whole = TryRead(At(2, 0, 0), 100, ReadHint::kOnward);
    const auto part = TryRead(At(2, 0, 0), 100);
    ASSERT_FALSE(whole);
    ASSERT_FALSE(part);
    EXPECT_EQ(part.error().message(), whole.error().message());
    EXPECT_THAT(part.error().message(), HasSubstr("chunk 1.0.0: memory/c1.0.0: blosc: "));
  }
  ExpectRead(At(0, 0, 0), 100);
}

TEST_F(ChunkPartsTest, AFailureIsCountedOnce) {
  ExpectRead(At(0, 0, 0), 100);  // so that the size of blocks is known
  Put("c1.0.0", "no such thing");
  EXPECT_FALSE(TryRead(At(2, 0, 0), 100));
  EXPECT_EQ(cache_.stats().failures, 1u);
}

TEST_F(ChunkPartsTest, DamageElsewhereInAChunkIsNotSeen) {
  std::string damaged = Get("c0.0.0");
  std::fill(damaged.end() - 100, damaged.end(), '\xff');  // the end of one of the blocks
  Put("c0.0.0", damaged);
  size_t sound = 0;
  for (uint64_t block = 0; block < 8; ++block) {
    const uint64_t row = block * kBlock / 1024;
    const auto read = TryRead(At(row / 256, row % 256, 0), 1000);
    if (read && *read == elements_.substr(At(row / 256, row % 256, 0), 1000)) ++sound;
  }
  EXPECT_EQ(sound, 7u);
  EXPECT_FALSE(TryRead(At(0, 0, 0), 1000, ReadHint::kOnward));
}

TEST_F(ChunkPartsTest, ChunksWithOtherBlocksAreDecodedAsAWholeWhereTheseAreLarger) {
  ExpectRead(At(0, 0, 0), 100);
  ASSERT_EQ(parts(), 1u);
  const std::string decoded = Elements(kChunk, 9);
  Put("c1.1.1", Encoded(decoded, 2 * kBlock));
  EXPECT_EQ(TryRead(At(2, 256, 256), 100).value(), decoded.substr(0, 100));
  EXPECT_EQ(chunks(), 1u);
  Put("c1.1.2", Encoded(decoded, kBlock / 4));
  EXPECT_EQ(TryRead(At(2, 256, 512), 100).value(), decoded.substr(0, 100));
  EXPECT_EQ(chunks(), 1u) << "smaller ones are only more of them";
}

TEST_F(ChunkPartsTest, ChunksOfFewBlocksAreDecodedAsAWhole) {
  for (const std::string& key : Keys()) Put(key, Encoded(std::string(kChunk, 'x'), kChunk / 2));
  EXPECT_EQ(TryRead(At(0, 0, 0), 100).value(), std::string(100, 'x'));
  EXPECT_EQ(parts(), 0u);
  EXPECT_EQ(chunks(), 1u);
}

TEST_F(ChunkPartsTest, NeverMixesVersionsOfAChunkFile) {
  ledger_ = std::make_shared<ChunkLedger>();
  ExpectRead(At(0, 0, 0), 100);
  Put("c0.0.0", Encoded(Elements(kChunk, 6)));
  const auto read = TryRead(At(1, 200, 0), 100);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), model::ErrorCode::kStale);
  EXPECT_TRUE(ledger_->has_changed());
}

class ChecksummedPartsTest : public ChunkPartsTest {
 protected:
  ChecksummedPartsTest() : ChunkPartsTest(R"(, "crc32c")") {}
};

TEST_F(ChecksummedPartsTest, WhatAChecksumCoversIsDecodedAsAWhole) {
  const auto read = TryRead(At(0, 0, 0), 100);
  ASSERT_FALSE(read) << "there is no checksum in these chunks";
  EXPECT_THAT(read.error().message(), HasSubstr("crc32c: stored "));
  EXPECT_EQ(parts(), 0u);
}

}  // namespace
}  // namespace ndlfs::cache
