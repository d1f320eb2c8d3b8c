// SPDX-License-Identifier: MIT
#include "cache/chunk_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/store/forwarding_store.h"
#include "cache/chunk_cache.h"
#include "cache/chunk_ledger.h"
#include "tests/support/chunk_source.h"
#include "tests/support/result.h"

namespace ndlfs::cache {
namespace {

using backends::ChunkGrid;
using model::Datatype;
using test::TestSource;
using testing::ElementsAre;
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

// One chunk of plain bytes at any location.
class PlacedSource final : public backends::ArraySource {
 public:
  PlacedSource(uint64_t size, backends::ChunkLocation location)
      : location_(std::move(location)) {
    spec_.dtype = Datatype::Integer(1, false);
    spec_.shape = {size};
    spec_.grid = ChunkGrid::Regular({size}, {size}, ChunkGrid::Edge::kFull).value();
    spec_.codecs =
        backends::MakeZarr3Chain(backends::Json::parse(R"(["bytes"])"), {spec_.dtype, {size}})
            .value();
  }
  const backends::ArraySpec& spec() const override { return spec_; }
  model::Result<backends::ChunkLocation> Locate(std::span<const uint64_t>,
                                                backends::IndexCache&) const override {
    return location_;
  }

  backends::ChunkLocation location_;
  backends::ArraySpec spec_;
};

class PlacedChunkTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kToEnd = backends::ByteRange::kToEnd;

  PlacedChunkTest() { store_->Put("v", "0123456789"); }

  // In pieces of the value "v".
  PlacedSource Pieces(uint64_t size, std::vector<backends::ByteRange> pieces) const {
    backends::ChunkLocation location;
    location.store = store_;
    location.key = "v";
    location.pieces = std::move(pieces);
    return {size, std::move(location)};
  }
  LoadContext Context() { return {.indexes = cache_, .ledger = ledger_.get()}; }
  model::Result<std::optional<uint64_t>> SizeOf(const PlacedSource& source) {
    return StoredSize(source, kFirst, Context());
  }
  model::Result<bool> Has(const PlacedSource& source) {
    return IsStored(source, kFirst, Context());
  }
  model::Result<StoredBytes> Find(const PlacedSource& source) {
    return FindStored(source, kFirst, Context());
  }
  model::Result<std::string> Load(const PlacedSource& source) {
    NDLFS_TRY(const backends::Bytes chunk, LoadChunk(source, kFirst, Context(), 1000));
    return std::string(backends::AsText(chunk.span()));
  }

  const std::vector<uint64_t> kFirst = {0};
  const std::shared_ptr<test::MemoryStore> store_ = std::make_shared<test::MemoryStore>();
  ChunkCache cache_{1 << 20};
  std::unique_ptr<ChunkLedger> ledger_;
};

TEST_F(PlacedChunkTest, StoredBytesAreAllPiecesOneAfterTheOther) {
  const PlacedSource source = Pieces(6, {{2, 3}, {0, 0}, {7, kToEnd}});
  const auto stored = Find(source);
  ASSERT_THAT(stored, test::IsOk());
  EXPECT_EQ(stored->kind, StoredBytes::Kind::kEncoded);
  ASSERT_EQ(stored->size, 6u);
  const std::string all = "234789";
  for (size_t begin = 0; begin <= all.size(); ++begin) {
    for (size_t size = 0; begin + size <= all.size(); ++size) {
      std::string out(size, '?');
      ASSERT_THAT(ReadStored(*stored, Context(), begin, std::as_writable_bytes(std::span(out))),
                  test::IsOk());
      ASSERT_EQ(out, all.substr(begin, size));
    }
  }
  EXPECT_EQ(SizeOf(source).value(), 6u);
  EXPECT_EQ(Load(source).value(), all);
  store_->Put("v", "0123456abc");
  std::string out(1, '?');
  EXPECT_THAT(ReadStored(*stored, Context(), 5, std::as_writable_bytes(std::span(out))),
              test::IsError(model::ErrorCode::kStale, testing::_));
}

TEST_F(PlacedChunkTest, MoreThanTheCodecsWriteIsNothingThatTheyHaveEncoded) {
  EXPECT_EQ(Find(Pieces(6, {{0, 6}}))->kind, StoredBytes::Kind::kEncoded);
  EXPECT_EQ(Find(Pieces(6, {{0, 7}}))->kind, StoredBytes::Kind::kOther);
  EXPECT_EQ(Find(Pieces(6, {{0, kToEnd}}))->kind, StoredBytes::Kind::kOther);
  EXPECT_EQ(Find(Pieces(6, {{0, kToEnd - 1}, {0, 6}}))->kind, StoredBytes::Kind::kOther);
  EXPECT_THAT(Load(Pieces(6, {{0, 7}})), test::IsError(model::ErrorCode::kCorrupt, testing::_));
}

TEST_F(PlacedChunkTest, WhatIsNotThereIsAbsentAndHasNoBytes) {
  for (const PlacedSource& source :
       {PlacedSource(6, backends::ChunkLocation::Absent()), Pieces(6, {})}) {
    EXPECT_EQ(Has(source).value(), false);
    EXPECT_EQ(SizeOf(source).value(), 0u);
    EXPECT_EQ(Find(source)->kind, StoredBytes::Kind::kAbsent);
    EXPECT_EQ(Load(source).value(), "");
  }
  store_->Remove("v");
  PlacedSource source = Pieces(6, {{0, kToEnd}});
  EXPECT_EQ(Has(source).value(), false);
  EXPECT_EQ(SizeOf(source).value(), 0u);
  EXPECT_EQ(Find(source)->kind, StoredBytes::Kind::kAbsent);
  EXPECT_EQ(Load(source).value(), "");
  source.location_.must_exist = true;
  EXPECT_EQ(Has(source).value(), true);
  EXPECT_EQ(Find(source)->kind, StoredBytes::Kind::kOther);
  EXPECT_THAT(Load(source), test::IsError(model::ErrorCode::kCorrupt, testing::_));
}

TEST_F(PlacedChunkTest, APieceBeyondTheEndHasNoBytes) {
  EXPECT_EQ(SizeOf(Pieces(6, {{20, kToEnd}, {4, kToEnd}})).value(), 6u);
  EXPECT_EQ(Find(Pieces(6, {{20, kToEnd}, {4, kToEnd}}))->size, 6u);
}

TEST_F(PlacedChunkTest, BytesThatAreElsewhereAreStored) {
  backends::ChunkLocation location;
  location.inline_bytes =
      std::make_shared<const backends::Bytes>(backends::Bytes::Copy(backends::AsBytes("abc")));
  const PlacedSource kept(3, location);
  EXPECT_EQ(Has(kept).value(), true);
  EXPECT_EQ(SizeOf(kept).value(), 3u);
  EXPECT_EQ(Load(kept).value(), "abc");
  const auto stored = Find(kept);
  EXPECT_EQ(stored->kind, StoredBytes::Kind::kEncoded);
  std::string out = "??";
  EXPECT_THAT(ReadStored(*stored, Context(), 1, std::as_writable_bytes(std::span(out))),
              test::IsOk());
  EXPECT_EQ(out, "bc");

  location.inline_bytes = nullptr;
  location.generate = [](uint64_t) -> model::Result<backends::Bytes> {
    return backends::Bytes::Copy(backends::AsBytes("xyz"));
  };
  const PlacedSource made(3, location);
  EXPECT_EQ(Has(made).value(), true);
  EXPECT_EQ(SizeOf(made).value(), std::nullopt);
  EXPECT_EQ(Find(made)->kind, StoredBytes::Kind::kOther);
  EXPECT_EQ(Load(made).value(), "xyz");
  EXPECT_THAT(
      Load(PlacedSource(2, location)),
      test::IsError(model::ErrorCode::kCorrupt, testing::HasSubstr("3 bytes instead of 2")));
}

TEST_F(PlacedChunkTest, TheLedgerNotesTheValueUnlessItNeverChanges) {
  std::vector<PlacedSource> sources = {Pieces(2, {}), Pieces(2, {{0, 2}}),
                                       Pieces(2, {{0, 1}, {3, 1}})};
  sources.front().location_.key = "gone";  // no version of it told that nothing is stored
  sources.push_back(Pieces(2, {{0, 2}}));
  sources.back().location_.inline_bytes =
      std::make_shared<const backends::Bytes>(backends::Bytes::Copy(backends::AsBytes("ab")));
  for (PlacedSource& source : sources) {
    ledger_ = nullptr;
    EXPECT_THAT(Load(source), test::IsOk());
    ledger_ = std::make_unique<ChunkLedger>();
    EXPECT_THAT(Load(source), test::IsOk());
    EXPECT_TRUE(ledger_->has_notes());
    source.location_.never_changes = true;
    ledger_ = std::make_unique<ChunkLedger>();
    EXPECT_THAT(Load(source), test::IsOk());
    EXPECT_FALSE(ledger_->has_notes());
  }
}

TEST_F(PlacedChunkTest, IsReadInPlaceWhereItIsOnePieceOfTheRightSize) {
  const auto read = [&](const PlacedSource& source) -> model::Result<std::string> {
    std::string out = "????";
    NDLFS_TRY(const bool is_there,
              ReadInPlace(source, kFirst, Context(), [&](const ReadChunkAt& read_at) {
                const auto bytes = std::as_writable_bytes(std::span(out));
                (void)(read_at(4, bytes.first(2)) && read_at(0, bytes.last(2)));
              }));
    return is_there ? out : "";
  };
  EXPECT_EQ(read(Pieces(6, {{2, 6}})).value(), "6723");
  EXPECT_EQ(read(Pieces(6, {{4, kToEnd}})).value(), "8945");
  EXPECT_EQ(read(Pieces(6, {{0, 3}, {3, 3}})).value(), "");
  EXPECT_EQ(read(PlacedSource(6, backends::ChunkLocation::Absent())).value(), "");
  for (const backends::ByteRange piece :
       {backends::ByteRange{2, 5}, {2, 7}, {4, 7}, {3, kToEnd}, {5, kToEnd}, {11, kToEnd}}) {
    EXPECT_THAT(read(Pieces(6, {piece})),
                test::IsError(model::ErrorCode::kCorrupt, testing::HasSubstr("memory/v: ")));
  }
  store_->Remove("v");
  EXPECT_EQ(read(Pieces(6, {{2, 6}})).value(), "");
}

// A store behind a server, which answers from memory.
class ServerStore final : public backends::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  backends::StoreTraits traits() const override { return {.is_remote = true}; }
  std::string Describe(std::string_view key) const override { return inner().Describe(key); }
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
    source_.spec_.codecs =
        backends::MakeZarr3Chain(backends::Json::parse(R"(["bytes", "crc32c"])"),
                                 {source_.spec().dtype, {10}})
            .value();
  }

  static constexpr uint64_t kFirst[] = {0};
  ChunkCache cache_{1 << 20};
  ChunkLedger ledger_;
  std::shared_ptr<test::MemoryStore> memory_ = std::make_shared<test::MemoryStore>();
  PlacedSource source_{10, {}};
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
