// SPDX-License-Identifier: MIT
#include "cache/prefetcher.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "backends/store/kept_values.h"
#include "tests/support/chunk_source.h"

namespace ndlfs::cache {
namespace {

using backends::ChunkGrid;
using std::chrono::milliseconds;

// 64 chunks of `bytes` each, all absent; those that are not encoded are not
// decoded ahead.
std::shared_ptr<test::TestSource> EncodedChunks(uint64_t bytes) {
  const auto dtype = model::Datatype::Integer(1, false);
  auto source = std::make_shared<test::TestSource>(
      dtype, ChunkGrid::Regular({64 * bytes}, {bytes}, ChunkGrid::Edge::kFull).value());
  source->spec_.codecs =
      backends::MakeZarr3Chain(
          *backends::ParseJson(
              R"(["bytes", {"name": "numcodecs.shuffle", "configuration": {"elementsize": 4}}])"),
          {dtype, {bytes}})
          .value();
  return source;
}

// 64 chunks of 100 units in a row, in a cache for `budget` bytes.
class PrefetcherTest : public testing::Test {
 protected:
  void SetUp() override { Make(10000 * kUnit); }

  static constexpr uint64_t kUnit =
      50;  // bytes: a chunk is just large enough to be decoded ahead

  void Make(uint64_t budget, uint64_t chunk = 100 * kUnit) {
    cache_ = std::make_unique<ChunkCache>(budget);
    source_ = std::make_shared<test::TestSource>(
        model::Datatype::Integer(1, false),
        ChunkGrid::Regular({64 * chunk}, {chunk}, ChunkGrid::Edge::kFull).value());
    for (int i = 0; i < 64; ++i)
      source_->store_->Put("c" + std::to_string(i), std::string(chunk, 'x'));
    reader_ = std::make_shared<const ArrayReader>(source_, *cache_);
  }

  bool Contains(uint64_t chunk) const { return cache_->Contains({source_->id(), chunk}); }

  // Waits until nothing is loaded any more.
  uint64_t LoadedInTheEnd(const Prefetcher& prefetcher) {
    uint64_t loaded = prefetcher.stats().loaded;
    for (int quiet = 0; quiet < 5;) {
      std::this_thread::sleep_for(milliseconds(10));
      const uint64_t now = prefetcher.stats().loaded;
      quiet = now == loaded ? quiet + 1 : 0;
      loaded = now;
    }
    return loaded;
  }

  std::unique_ptr<ChunkCache> cache_;
  std::shared_ptr<test::TestSource> source_;
  std::shared_ptr<const ArrayReader> reader_;
};

TEST_F(PrefetcherTest, DecodesAheadOfAReaderThatGoesForwardMoreAndMore) {
  Prefetcher prefetcher(*cache_, 2);
  ReadStream stream(prefetcher, reader_);
  stream.OnRead(0, 10 * kUnit);
  EXPECT_EQ(LoadedInTheEnd(prefetcher), 2u);
  EXPECT_TRUE(Contains(1));
  EXPECT_TRUE(Contains(2));
  EXPECT_FALSE(Contains(0));  // that one the reader loads itself
  stream.OnRead(10 * kUnit, 90 * kUnit);
  EXPECT_EQ(LoadedInTheEnd(prefetcher), 4u);
  EXPECT_TRUE(Contains(4));
  EXPECT_FALSE(Contains(5));
}

class ServerPrefetcherTest : public testing::Test {
 protected:
  static constexpr uint64_t kChunk = uint64_t{1} << 20;

  // How many chunks a first read of `bytes` has decoded ahead.
  uint64_t LoadedAfter(uint64_t bytes) {
    ReadStream stream(prefetcher_, std::make_shared<const ArrayReader>(source_, cache_));
    stream.OnRead(0, bytes);
    uint64_t loaded = 0;
    for (int quiet = 0; quiet < 5;) {
      std::this_thread::sleep_for(milliseconds(10));
      quiet = prefetcher_.stats().loaded == loaded ? quiet + 1 : 0;
      loaded = prefetcher_.stats().loaded;
    }
    return loaded;
  }

  ChunkCache cache_{200 * kChunk, nullptr, {.decoders = 1, .fetches = 32, .is_remote = true}};
  const std::shared_ptr<test::TestSource> source_ = EncodedChunks(kChunk);
  Prefetcher prefetcher_{cache_, 1};
};

TEST_F(ServerPrefetcherTest, AReaderThatTakesMuchAtOnceGetsManyFetchesAtOnce) {
  EXPECT_EQ(LoadedAfter(1 << 20), 16u);
}

TEST_F(ServerPrefetcherTest, AReaderThatLooksAtTheBeginningGetsFew) {
  EXPECT_EQ(LoadedAfter(16 << 10), 2u);
}

class ProbingPrefetcherTest : public testing::Test {
 protected:
  static constexpr uint64_t kChunk = uint64_t{1} << 20;

  ChunkCache cache_{
      200 * kChunk, nullptr, {.decoders = 1, .fetches = 32, .is_remote = true, .received = [] {
                                return uint64_t{0};  // the link says nothing
                              }}};
  Prefetcher prefetcher_{cache_, 1};
};

TEST_F(ProbingPrefetcherTest, FetchesThatMayBringNothingMoreWaitForTheFirstChunk) {
  ReadStream stream(prefetcher_,
                    std::make_shared<const ArrayReader>(EncodedChunks(kChunk), cache_));
  const auto loaded = [&] {
    uint64_t before = 0;
    for (int quiet = 0; quiet < 5;) {
      std::this_thread::sleep_for(milliseconds(10));
      const uint64_t now = prefetcher_.stats().loaded;
      quiet = now == before ? quiet + 1 : 0;
      before = now;
    }
    return before;
  };
  stream.OnRead(0, kChunk);
  EXPECT_EQ(loaded(), LinkProbe::kAtFirst - 1) << "the reader loads one itself";
  stream.OnRead(kChunk, kChunk);
  EXPECT_GE(loaded(), 32u) << "the first one is there";
}

// Has no values, and says that it keeps them.
class KeepingStore final : public backends::Store, public backends::KeptValues {
 public:
  bool IsKept(std::string_view, const backends::ByteRange&) const override { return true; }
  model::Result<std::optional<backends::ValueInfo>> Stat(std::string_view) const override {
    return std::nullopt;
  }
  model::Result<std::vector<backends::StoreEntry>> List(std::string_view) const override {
    return std::vector<backends::StoreEntry>();
  }
  std::string Describe(std::string_view key) const override { return std::string(key); }

 private:
  model::Result<std::optional<backends::ReadResult>> DoRead(
      std::string_view, const backends::ReadOptions&, const backends::Reserve&) const override {
    return std::nullopt;
  }
};

// The chunks of another source, out of a KeepingStore.
class KeepingSource final : public backends::ArraySource {
 public:
  explicit KeepingSource(std::shared_ptr<const backends::ArraySource> source)
      : source_(std::move(source)) {}
  const backends::ArraySpec& spec() const override { return source_->spec(); }
  model::Result<backends::ChunkLocation> Locate(std::span<const uint64_t> index,
                                                backends::IndexCache& cache) const override {
    NDLFS_TRY(auto location, source_->Locate(index, cache));
    location.store = store_;
    return location;
  }

 private:
  const std::shared_ptr<const backends::ArraySource> source_;
  const std::shared_ptr<const backends::Store> store_ = std::make_shared<KeepingStore>();
};

TEST_F(ProbingPrefetcherTest, FetchesOfWhatIsKeptOnThisMachineDoNotWait) {
  const auto source = std::make_shared<KeepingSource>(EncodedChunks(kChunk));
  ReadStream stream(prefetcher_, std::make_shared<const ArrayReader>(source, cache_));
  // As the kernel reads ahead; what the second one asks for knows what the first has found.
  stream.OnRead(0, kChunk / 4);
  stream.OnRead(kChunk / 4, 3 * kChunk / 4);
  for (int i = 0; i < 3000 && prefetcher_.stats().loaded < 32; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_GE(prefetcher_.stats().loaded, 32u);
}

TEST_F(ProbingPrefetcherTest, AReaderThatGoesAwayLeavesNothingBehind) {
  {
    ReadStream stream(prefetcher_,
                      std::make_shared<const ArrayReader>(EncodedChunks(kChunk), cache_));
    stream.OnRead(0, kChunk);
  }
  EXPECT_GE(prefetcher_.stats().cancelled, 16u);
}

TEST_F(PrefetcherTest, ChunksOfOneReadAreDecodedSideBySide) {
  Prefetcher prefetcher(*cache_, 2);
  ReadStream stream(prefetcher, reader_);
  stream.OnRead(0, 350 * kUnit);
  EXPECT_EQ(LoadedInTheEnd(prefetcher), 5u);
  EXPECT_FALSE(Contains(0));  // the reader begins with that
  EXPECT_TRUE(Contains(1));
  EXPECT_TRUE(Contains(5));
}

TEST_F(PrefetcherTest, StaysWithinItsPartOfTheBudget) {
  Make(1000 * kUnit);  // ten chunks, of which the reader holds one
  Prefetcher prefetcher(*cache_, 1);
  ReadStream stream(prefetcher, reader_);
  for (uint64_t offset = 0; offset < 1000 * kUnit; offset += 10 * kUnit)
    stream.OnRead(offset, 10 * kUnit);
  LoadedInTheEnd(prefetcher);
  EXPECT_TRUE(Contains(13));
  EXPECT_FALSE(Contains(14));
}

TEST_F(PrefetcherTest, ChunksThatAReaderHasPassedMakeRoomForThoseAhead) {
  constexpr uint64_t kChunk = uint64_t{1} << 20;
  // On a busy machine memory may look like a slow source, and more would be fetched at once.
  ChunkCache cache(100 * kChunk, nullptr, {.decoders = 1, .fetches = 1});
  const auto source = EncodedChunks(kChunk);
  for (int i = 0; i < 64; ++i) {
    source->store_->Put("c" + std::to_string(i), std::string(kChunk, '\0'));
  }
  const auto reader = std::make_shared<const ArrayReader>(source, cache);
  Prefetcher prefetcher(cache, 1);
  ReadStream stream(prefetcher, reader);
  backends::Bytes out(kChunk);
  for (uint64_t chunk = 0; chunk < 64; ++chunk) {
    stream.OnRead(chunk * kChunk, kChunk);
    ASSERT_TRUE(reader->Read(chunk * kChunk, out.span()));
    LoadedInTheEnd(prefetcher);
  }
  EXPECT_LT(cache.stats().used_bytes, 48 * kChunk);
  EXPECT_EQ(cache.stats().misses, 64u) << "none was decoded twice";
}

TEST_F(PrefetcherTest, DoesNothingWhereTheCacheHoldsOnlyTheReadersOwnChunk) {
  Make(150 * kUnit);
  Prefetcher prefetcher(*cache_, 1);
  ReadStream stream(prefetcher, reader_);
  for (uint64_t offset = 0; offset < 500 * kUnit; offset += 10 * kUnit)
    stream.OnRead(offset, 10 * kUnit);
  EXPECT_EQ(LoadedInTheEnd(prefetcher), 0u);
}

TEST_F(PrefetcherTest, TinyChunksAreLeftToTheReader) {
  Make(10000 * kUnit, kUnit);
  Prefetcher prefetcher(*cache_, 1);
  ReadStream stream(prefetcher, reader_);
  for (uint64_t offset = 0; offset < 64 * kUnit; offset += 10) stream.OnRead(offset, 10);
  EXPECT_EQ(LoadedInTheEnd(prefetcher), 0u);
}

TEST_F(PrefetcherTest, TinyChunksAreLoadedAheadWhereFetchesHaveToWait) {
  Make(10000 * kUnit, kUnit);
  for (int i = 0; i < 4; ++i) cache_->pace().NoteFetch(/*has_waited=*/true);
  Prefetcher prefetcher(*cache_, 1);
  ReadStream stream(prefetcher, reader_);
  stream.OnRead(0, 10);
  EXPECT_GE(LoadedInTheEnd(prefetcher), 2u);
}

TEST_F(PrefetcherTest, TheEndOfTheArrayIsTheEnd) {
  Prefetcher prefetcher(*cache_, 2);
  ReadStream stream(prefetcher, reader_);
  for (uint64_t offset = 0; offset < 6400 * kUnit; offset += 50 * kUnit)
    stream.OnRead(offset, 50 * kUnit);
  EXPECT_EQ(LoadedInTheEnd(prefetcher), 63u);
}

TEST_F(PrefetcherTest, AnErrorAheadIsLeftToTheReader) {
  source_->store_->Put("c1", "short");
  Prefetcher prefetcher(*cache_, 1);
  ReadStream stream(prefetcher, reader_);
  stream.OnRead(0, 10 * kUnit);
  EXPECT_EQ(LoadedInTheEnd(prefetcher), 1u);
  EXPECT_FALSE(Contains(1));
}

// Chunks large enough that a jump is a jump and not a little out of order.
TEST_F(PrefetcherTest, ChunkThatAReaderIsExpectedAtIsDecoded) {
  Prefetcher prefetcher(*cache_, 2);
  ReadStream stream(prefetcher, reader_);
  stream.Expect(310 * kUnit);
  stream.Expect(6400 * kUnit);  // behind the end
  EXPECT_EQ(LoadedInTheEnd(prefetcher), 1u);
  EXPECT_TRUE(Contains(3));
}

TEST_F(PrefetcherTest, ChunkThatTakesMuchOfTheCacheIsNotDecodedBeforehand) {
  Make(399 * kUnit);
  Prefetcher prefetcher(*cache_, 2);
  ReadStream stream(prefetcher, reader_);
  stream.Expect(310 * kUnit);
  EXPECT_EQ(LoadedInTheEnd(prefetcher), 0u);
}

class ReadStreamTest : public testing::Test {
 protected:
  static constexpr uint64_t kChunk = uint64_t{8} << 20;

  // How many chunks were decoded ahead, once `expected` were and there has been
  // time for more.
  uint64_t Loaded(uint64_t expected) const {
    for (int i = 0; i < 200 && prefetcher_.stats().loaded < expected; ++i) {
      std::this_thread::sleep_for(milliseconds(10));
    }
    std::this_thread::sleep_for(milliseconds(20));
    return prefetcher_.stats().loaded;
  }
  bool Contains(uint64_t chunk) const { return cache_.Contains({source_->id(), chunk}); }

  ChunkCache cache_{40 * kChunk};
  const std::shared_ptr<test::TestSource> source_ = EncodedChunks(kChunk);
  Prefetcher prefetcher_{cache_, 1};
  ReadStream stream_{prefetcher_, std::make_shared<const ArrayReader>(source_, cache_)};
};

TEST_F(ReadStreamTest, TakesASingleReadForNoDirection) {
  stream_.OnRead(40 * kChunk, 100);
  EXPECT_EQ(Loaded(0), 0u);  // one read is no direction
  stream_.OnRead(40 * kChunk + 100, 100);
  EXPECT_EQ(Loaded(2), 2u);
  EXPECT_TRUE(Contains(41));
}

TEST_F(ReadStreamTest, TheChunksOfALargeReadSomewhereAreDecodedSideBySide) {
  stream_.OnRead(40 * kChunk - 200, 400);
  EXPECT_EQ(Loaded(0), 0u) << "too little to decode a chunk for";
  stream_.OnRead(20 * kChunk - 100, 2 * kChunk);
  EXPECT_EQ(Loaded(2), 2u);
  EXPECT_FALSE(Contains(19)) << "the reader begins with that";
  EXPECT_TRUE(Contains(20));
  EXPECT_TRUE(Contains(21));
}

TEST_F(ReadStreamTest, TellsReadsThatAreAloneFromThoseThatGoOn) {
  EXPECT_EQ(stream_.OnRead(0, 4096), ReadHint::kOnward) << "files are read from the beginning";
  EXPECT_EQ(stream_.OnRead(4096, 4096), ReadHint::kOnward);
  EXPECT_EQ(stream_.OnRead(40 * kChunk, 4096), ReadHint::kAlone);
  EXPECT_EQ(stream_.OnRead(40 * kChunk + 8192, 4096), ReadHint::kOnward) << "a little later";
  EXPECT_EQ(stream_.OnRead(20 * kChunk, 4096), ReadHint::kAlone);
  EXPECT_EQ(stream_.OnRead(20 * kChunk + (2 << 20), 4096), ReadHint::kAlone)
      << "small reads that happen to be near are no direction";
  EXPECT_EQ(stream_.OnRead(10 * kChunk, 32 << 10), ReadHint::kAlone);
  EXPECT_EQ(stream_.OnRead(10 * kChunk + (1 << 20), 32 << 10), ReadHint::kOnward)
      << "larger ones arrive in any order";
  EXPECT_EQ(stream_.OnRead(30 * kChunk, 1 << 20), ReadHint::kOnward)
      << "of large ones whole chunks are decoded";
}

TEST_F(ReadStreamTest, FollowsAReaderThatJumpsByOneWidth) {
  stream_.OnRead(10 * kChunk, 100);
  EXPECT_EQ(stream_.OnRead(13 * kChunk, 100), ReadHint::kAlone);
  EXPECT_EQ(Loaded(0), 0u);
  EXPECT_EQ(stream_.OnRead(16 * kChunk, 100), ReadHint::kOnward);  // the second by three chunks
  EXPECT_EQ(Loaded(2), 2u);
  EXPECT_TRUE(Contains(19));
  EXPECT_TRUE(Contains(22));
  EXPECT_FALSE(Contains(17)) << "that is jumped over";
  stream_.OnRead(18 * kChunk, 100);
  EXPECT_EQ(Loaded(2), 2u) << "another jump";
}

}  // namespace
}  // namespace ndlfs::cache
