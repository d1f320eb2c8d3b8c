// SPDX-License-Identifier: MIT
#include "cache/chunk_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

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

 private:
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

}  // namespace
}  // namespace ndlfs::cache
