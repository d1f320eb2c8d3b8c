// SPDX-License-Identifier: MIT
#include "cache/chunk_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "backends/store/forwarding_store.h"
#include "cache/chunk_cache.h"
#include "cache/chunk_ledger.h"
#include "tests/support/chunk_source.h"

namespace ndlfs::cache {
namespace {

using backends::ChunkGrid;
using model::Datatype;
using test::TestSource;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kElements = 1000;

TestSource OneChunk(const std::string& bytes) {
  TestSource source(
      Datatype::Integer(1, false),
      ChunkGrid::Regular({kElements}, {kElements}, ChunkGrid::Edge::kFull).value());
  source.store_->Put("c0", bytes);
  return source;
}

// What a load of the chunk has told of the memory that it needs.
std::vector<uint64_t> ToldBy(const TestSource& source) {
  ChunkCache cache(1 << 20);
  std::vector<uint64_t> told;
  const std::function<void(uint64_t)> needs_only = [&](uint64_t bytes) {
    told.push_back(bytes);
  };
  const std::vector<uint64_t> index = {0};
  (void)LoadChunk(source, index, {.indexes = cache, .needs_only = &needs_only},
                  source.spec().max_chunk_bytes);
  return told;
}

TEST(ChunkLoaderTest, TellsHowLittleTheEncodedBytesTake) {
  TestSource source = OneChunk("damaged");
  source.spec_.codecs =
      backends::MakeZarr3Chain(
          backends::Json::parse(R"(["bytes",{"name":"gzip","configuration":{"level":1}}])"),
          {source.spec_.dtype, {kElements}})
          .value();
  const uint64_t scratch = source.spec().codecs.MaxScratchSize({kElements});
  EXPECT_THAT(ToldBy(source), ElementsAre(7 + scratch));
  EXPECT_LT(7 + scratch, TransientSize(source.spec(), {kElements}));
}

TEST(ChunkLoaderTest, WhatIsNotEncodedTakesNothingMore) {
  EXPECT_THAT(ToldBy(OneChunk(std::string(kElements, 'x'))), IsEmpty());
}

// A store behind a server, which answers from memory.
class ServerStore final : public backends::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  backends::StoreTraits traits() const override { return {.is_remote = true}; }
  std::string Describe(std::string_view key) const override { return inner().Describe(key); }
};

// An array of one chunk of ten bytes that lies where a test says.
class OneLocation final : public backends::ArraySource {
 public:
  const backends::ArraySpec& spec() const override { return truth_.spec(); }
  model::Result<backends::ChunkLocation> Locate(std::span<const uint64_t>,
                                                backends::IndexCache&) const override {
    return location_;
  }

  TestSource truth_{Datatype::Integer(1, false),
                    ChunkGrid::Regular({10}, {10}, ChunkGrid::Edge::kFull).value()};
  backends::ChunkLocation location_;
};

class LocationTest : public testing::Test {
 protected:
  LocationTest() {
    memory_->Put("a", "..01234..56789");
    source_.location_.store = memory_;
    source_.location_.key = "a";
    source_.location_.pieces = {{2, 5}, {9, 5}};
  }
  void BehindServer() { source_.location_.store = std::make_shared<ServerStore>(memory_); }
  LoadContext Context() { return {.indexes = cache_, .ledger = &ledger_}; }
  // The bytes of the chunk, or what is wrong.
  std::string Load() {
    const auto chunk = LoadChunk(source_, kFirst, Context(), 1000);
    return chunk ? std::string(backends::AsText(chunk->span())) : chunk.error().message();
  }
  // The bytes from `offset` on as they are stored, or what is wrong.
  std::string Stored(size_t offset, size_t size) {
    const auto stored = FindStored(source_, kFirst, Context());
    if (!stored) return stored.error().message();
    if (stored->kind == StoredBytes::Kind::kAbsent) return "absent";
    if (stored->kind == StoredBytes::Kind::kOther) return "other";
    std::string bytes(size, '?');
    const auto read =
        ReadStored(*stored, Context(), offset, std::as_writable_bytes(std::span(bytes)));
    return read ? bytes : read.error().message();
  }
  void Compress() {
    source_.truth_.spec_.codecs =
        backends::MakeZarr3Chain(backends::Json::parse(R"(["bytes", "crc32c"])"),
                                 {source_.spec().dtype, {10}})
            .value();
  }

  static constexpr uint64_t kFirst[] = {0};
  ChunkCache cache_{1 << 20};
  ChunkLedger ledger_;
  std::shared_ptr<test::MemoryStore> memory_ = std::make_shared<test::MemoryStore>();
  OneLocation source_;
};

TEST_F(LocationTest, PiecesBehindAServerAreOneChunk) {
  EXPECT_EQ(Load(), "0123456789");
  BehindServer();
  EXPECT_EQ(Load(), "0123456789");
  source_.location_.pieces = {{2, 3}, {5, 2}, {9, 5}};
  EXPECT_EQ(Load(), "0123456789");
}

TEST_F(LocationTest, PiecesBehindAServerThatAreNotWholeAreErrors) {
  BehindServer();
  source_.location_.pieces = {{2, 5}, {11, 5}};
  EXPECT_THAT(Load(), HasSubstr("bytes 11 + 5 lie beyond the end at 14"));
  source_.location_.pieces = {{2, 5}, {9, 4}};
  EXPECT_THAT(Load(), HasSubstr("9 bytes, expected 10"));
  source_.location_.pieces = {{0, 10}, {0, 10}};
  EXPECT_THAT(Load(), HasSubstr("20 encoded bytes, more than the 10 of any sound chunk"));
  source_.location_.pieces = {{2, 5}, {9, 5}};
  source_.location_.must_exist = true;
  memory_->Remove("a");
  EXPECT_THAT(Load(), HasSubstr("a"));
  EXPECT_FALSE(LoadChunk(source_, kFirst, Context(), 1000));
  memory_->Fail("a", EIO);
  EXPECT_FALSE(LoadChunk(source_, kFirst, {.indexes = cache_}, 1000));
}

TEST_F(LocationTest, PiecesBehindAServerAreDecoded) {
  Compress();
  source_.location_.pieces = {{0, 5}, {5, 9}};
  const std::string elements = "0123456789";
  std::string checksum(4, '\0');
  const uint32_t crc = 0x280c069e;  // of "0123456789"
  std::memcpy(checksum.data(), &crc, 4);
  memory_->Put("a", elements + checksum);
  BehindServer();
  EXPECT_EQ(Load(), elements);
  memory_->Put("b", elements + "wrong");
  source_.location_.key = "b";
  EXPECT_THAT(Load(), HasSubstr("crc32c"));
}

TEST_F(LocationTest, StoredBytesAreThoseOfThePieces) {
  EXPECT_EQ(Stored(0, 10), "0123456789");
  EXPECT_EQ(Stored(3, 4), "3456");
  EXPECT_EQ(Stored(6, 2), "67");
  EXPECT_EQ(*StoredSize(source_, kFirst, Context()), 10u);
  EXPECT_TRUE(*IsStored(source_, kFirst, Context()));
}

TEST_F(LocationTest, StoredBytesOfAnotherVersionAreNotRead) {
  const auto stored = FindStored(source_, kFirst, Context());
  ASSERT_TRUE(stored);
  std::byte out[10];
  memory_->Put("a", "..0123");
  EXPECT_FALSE(ReadStored(*stored, {.indexes = cache_}, 0, out)) << "it is shorter now";
  memory_->Remove("a");
  EXPECT_THAT(ReadStored(*stored, {.indexes = cache_}, 0, out).error().message(),
              HasSubstr("it is gone"));
  source_.location_.must_exist = true;
  const auto lost = FindStored(source_, kFirst, Context());
  ASSERT_TRUE(lost);
  const auto read = ReadStored(*lost, {.indexes = cache_}, 0, out);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), model::ErrorCode::kCorrupt);
}

TEST_F(LocationTest, AWholeValueMayBeMissing) {
  source_.location_.pieces = {{}};
  memory_->Put("a", "0123456789");
  EXPECT_EQ(Stored(2, 3), "234");
  EXPECT_EQ(*StoredSize(source_, kFirst, Context()), 10u);
  memory_->Put("a", "0123456789!");
  EXPECT_EQ(Stored(0, 1), "other") << "no sound chunk has so many";
  memory_->Remove("a");
  EXPECT_EQ(Stored(0, 1), "absent");
  EXPECT_EQ(*StoredSize(source_, kFirst, Context()), 0u);
  EXPECT_FALSE(*IsStored(source_, kFirst, Context()));
  source_.location_.must_exist = true;
  EXPECT_EQ(Stored(0, 1), "other");
  EXPECT_TRUE(*IsStored(source_, kFirst, Context())) << "a table says so";
}

TEST_F(LocationTest, ChunksInMetadataAndOfLibrariesAreTold) {
  source_.location_ = {};
  EXPECT_EQ(Stored(0, 1), "absent");
  EXPECT_EQ(*StoredSize(source_, kFirst, Context()), 0u);
  EXPECT_FALSE(*IsStored(source_, kFirst, Context()));
  EXPECT_FALSE(IsKept(source_, kFirst, Context()));
  source_.location_.inline_bytes = std::make_shared<const backends::Bytes>(
      backends::Bytes::Copy(backends::AsBytes("9876543210")));
  EXPECT_EQ(Stored(2, 3), "765");
  EXPECT_EQ(Load(), "9876543210");
  EXPECT_EQ(*StoredSize(source_, kFirst, Context()), 10u);
  EXPECT_TRUE(*IsStored(source_, kFirst, Context()));
  source_.location_ = {};
  source_.location_.generate = [](uint64_t) -> model::Result<backends::Bytes> {
    return backends::Bytes::Copy(backends::AsBytes("short"));
  };
  EXPECT_THAT(Load(), HasSubstr("5 bytes instead of 10"));
  EXPECT_EQ(Stored(0, 1), "other");
  EXPECT_FALSE(StoredSize(source_, kFirst, Context())->has_value());
  EXPECT_TRUE(*IsStored(source_, kFirst, Context()));
  source_.location_ = {.store = memory_, .key = "a", .pieces = {}};
  EXPECT_EQ(Stored(0, 1), "absent") << "there are no pieces";
  EXPECT_FALSE(*IsStored(source_, kFirst, Context()));
  source_.location_.pieces = {{2, 10}};
  source_.location_.skip_codecs = 1;
  EXPECT_EQ(Stored(0, 1), "other") << "codecs were left out";
}

}  // namespace
}  // namespace ndlfs::cache
