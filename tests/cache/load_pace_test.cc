// SPDX-License-Identifier: MIT
#include "cache/load_pace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backends/codec/codec.h"
#include "backends/codec/registry.h"
#include "cache/chunk_ledger.h"
#include "cache/prefetcher.h"
#include "tests/support/chunk_source.h"
#include "tests/support/result.h"
#include "tests/support/slow_store.h"

namespace ndlfs::cache {
namespace {

using backends::ChunkGrid;
using std::chrono::milliseconds;

constexpr uint64_t kLarge = uint64_t{1} << 20;  // bytes that a turn to decode is taken for
const LoadPace::Limits kLimits = {.decoders = 2, .fetches = 8};

void MakeSlow(LoadPace& pace) {
  while (pace.width() < pace.max_fetches()) pace.NoteFetch(true);
}

// Waits until `condition` holds; false if it does not for long.
bool Eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 3000 && !condition(); ++i) std::this_thread::sleep_for(milliseconds(10));
  return condition();
}

TEST(LoadPaceTest, StartsWideIfItIsToldTo) {
  LoadPace pace({.decoders = 2, .fetches = 8, .is_remote = true});
  EXPECT_EQ(pace.width(), 8u);
  EXPECT_TRUE(pace.is_slow());
  for (int i = 0; i < 20; ++i) pace.NoteFetch(false);
  EXPECT_EQ(pace.width(), 2u);
}

TEST(LoadPaceTest, GrowsWhileFetchesWaitAndShrinksWhenTheyDoNot) {
  LoadPace pace(kLimits);
  EXPECT_EQ(pace.width(), 2u);
  EXPECT_FALSE(pace.is_slow());
  pace.NoteFetch(true);
  EXPECT_EQ(pace.width(), 3u);
  EXPECT_TRUE(pace.is_slow());
  for (int i = 0; i < 20; ++i) pace.NoteFetch(true);
  EXPECT_EQ(pace.width(), 8u);
  pace.NoteFetch(false);
  EXPECT_EQ(pace.width(), 7u);
  for (int i = 0; i < 20; ++i) pace.NoteFetch(false);
  EXPECT_EQ(pace.width(), 2u);
}

TEST(LoadPaceTest, FewerFetchesThanDecodersMeanAsMany) {
  LoadPace pace({.decoders = 4, .fetches = 1});
  pace.NoteFetch(true);
  EXPECT_EQ(pace.width(), 4u);
}

TEST(LoadPaceTest, FetchesThatWaitAreToldFromThoseThatDoNot) {
  LoadPace pace(kLimits);
  const auto fetch = [&](milliseconds wait) {
    LoadPace::Fetch scope(&pace);
    if (wait.count() != 0) std::this_thread::sleep_for(wait);
  };
  for (int i = 0; i < 5; ++i) fetch(milliseconds(0));
  EXPECT_EQ(pace.width(), 2u);
  for (int i = 0; i < 5; ++i) fetch(milliseconds(2));
  EXPECT_GE(pace.width(), 6u) << "the first one is the reason to measure the others";
  for (int i = 0; i < 200 && pace.is_slow(); ++i) fetch(milliseconds(0));
  EXPECT_EQ(pace.width(), 2u);
}

TEST(LoadPaceTest, AFetchThatWorksForLongHasNotWaited) {
  LoadPace pace(kLimits);
  std::atomic<uint64_t> work{0};
  for (int i = 0; i < 4; ++i) {
    LoadPace::Fetch scope(&pace);
    const auto start = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - start < milliseconds(2)) ++work;
  }
  EXPECT_EQ(pace.width(), 2u);
}

TEST(LoadPaceTest, FetchesThatAreStuckLeaveRoomForOthers) {
  LoadPace pace(kLimits);
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      LoadPace::Fetch scope(&pace);
      const std::scoped_lock waits(mutex);
    });
  }
  EXPECT_TRUE(Eventually([&] { return pace.UpdateWidth() == 5; }));
  EXPECT_EQ(pace.CountFetches(), 3u);
  pace.NoteFetch(false);
  EXPECT_EQ(pace.width(), 5u) << "two that are not stuck";
  lock.unlock();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pace.CountFetches(), 0u);
}

// Ends the calling thread's turn when it is told to.
class TurnTest : public testing::Test {
 protected:
  // Starts a thread that takes a turn, and waits until it has it or waits for it.
  void Start(const std::string& name, bool ahead) {
    threads_.emplace_back([this, name, ahead] {
      std::optional<LoadPace::AheadScope> scope;
      if (ahead) scope.emplace();
      ++asking_;
      const LoadPace::Decoding turn(&pace_, kLarge);
      std::unique_lock lock(mutex_);
      order_.push_back(name);
      may_end_.wait(lock, [this] { return ends_ > 0; });
      --ends_;
    });
    const int threads = static_cast<int>(threads_.size());
    ASSERT_TRUE(Eventually([&] { return asking_ == threads; }));
    std::this_thread::sleep_for(milliseconds(20));  // one after the other
  }
  void EndOneAndWaitFor(size_t turns) {
    {
      const std::scoped_lock lock(mutex_);
      ++ends_;
    }
    may_end_.notify_one();
    ASSERT_TRUE(Eventually([&] { return Order().size() == turns; }));
  }
  std::vector<std::string> Order() {
    const std::scoped_lock lock(mutex_);
    return order_;
  }
  void TearDown() override {
    {
      const std::scoped_lock lock(mutex_);
      ends_ = 1000;
    }
    may_end_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  LoadPace pace_{{.decoders = 1, .fetches = 8}};

 private:
  std::vector<std::thread> threads_;
  std::atomic<int> asking_{0};
  std::mutex mutex_;
  std::condition_variable may_end_;
  int ends_ = 0;
  std::vector<std::string> order_;
};

TEST_F(TurnTest, ReadersComeFirstButNotTwiceInARow) {
  MakeSlow(pace_);
  Start("first", true);
  for (const char* name : {"ahead 1", "ahead 2"}) Start(name, true);
  for (const char* name : {"reader 1", "reader 2"}) Start(name, false);
  EXPECT_THAT(Order(), testing::ElementsAre("first"));
  for (size_t turns = 2; turns <= 5; ++turns) EndOneAndWaitFor(turns);
  EXPECT_THAT(Order(),
              testing::ElementsAre("first", "reader 1", "ahead 1", "reader 2", "ahead 2"));
}

TEST_F(TurnTest, WhatIsFetchedAndWaitsToBeDecodedMakesTheWidthSmaller) {
  MakeSlow(pace_);
  Start("first", true);
  Start("second", true);
  pace_.NoteFetch(true);
  EXPECT_EQ(pace_.width(), 7u);
}

TEST_F(TurnTest, AFetchThatTakesLongerThanWhatWaitsMakesTheWidthNoSmaller) {
  constexpr int64_t kHour = int64_t{3600} * 1'000'000'000;
  MakeSlow(pace_);
  Start("first", true);
  Start("second", true);
  Start("third", true);
  EndOneAndWaitFor(2);  // a turn of some milliseconds; the third one waits
  pace_.NoteFetch(true, kHour);
  EXPECT_EQ(pace_.width(), 8u) << "the next one has to begin now";
  pace_.NoteFetch(true, 1);
  EXPECT_EQ(pace_.width(), 7u) << "the next one is in time all the same";
}

TEST_F(TurnTest, WhereFetchesDoNotWaitNobodyWaitsForATurn) {
  for (const char* name : {"1", "2", "3"}) Start(name, true);
  EXPECT_TRUE(Eventually([this] { return Order().size() == 3; }));
}

TEST_F(TurnTest, LittleIsDecodedWithoutATurn) {
  MakeSlow(pace_);
  Start("first", true);
  const LoadPace::Decoding turn(&pace_, 100);  // would wait for ever
}

// Copies, and counts how many threads do so at once.
class CountingCodec final : public backends::BytesToBytesCodec {
 public:
  std::string_view name() const override { return "counting"; }
  SizeBound EncodedSize(uint64_t decoded_size) const override { return {decoded_size, true}; }
  model::Result<size_t> Decode(backends::ConstByteSpan encoded,
                               backends::ByteSpan decoded) const override {
    const test::Concurrency::Scope scope(decoding);
    std::this_thread::sleep_for(milliseconds(1));
    if (encoded.size() > decoded.size()) return model::Corrupt("too long");
    std::copy(encoded.begin(), encoded.end(), decoded.begin());
    return encoded.size();
  }
  mutable test::Concurrency decoding;
};

class SlowArrayTest : public testing::Test {
 protected:
  static constexpr uint64_t kChunk = uint64_t{64} << 10;
  static constexpr uint64_t kChunks = 200;

  // An array in a store that calls `wait` for each read.
  void Make(test::SlowStore::WaitFor wait, uint64_t budget = uint64_t{64} << 20) {
    memory_ = std::make_shared<test::MemoryStore>();
    for (uint64_t i = 0; i < kChunks; ++i) {
      memory_->Put("c" + std::to_string(i), std::string(kChunk, static_cast<char>(i)));
    }
    slow_ = std::make_shared<test::SlowStore>(memory_, std::move(wait));
    source_ = std::make_shared<Source>(slow_, codec_);
    cache_ = std::make_unique<ChunkCache>(budget, nullptr, kLimits);
    ledger_ = std::make_shared<ChunkLedger>();
    reader_ = std::make_shared<const ArrayReader>(source_, *cache_, ledger_);
  }
  bool Contains(uint64_t chunk) const { return cache_->Contains({source_->id(), chunk}); }
  // Reads chunk after chunk as a program does.
  void ReadAll(Prefetcher& prefetcher) {
    ReadStream stream(prefetcher, reader_);
    backends::Bytes out(kChunk);
    for (uint64_t i = 0; i < kChunks; ++i) {
      stream.OnRead(i * kChunk, kChunk);
      ASSERT_THAT(reader_->Read(i * kChunk, out.span()), test::IsOk());
      ASSERT_EQ(out.span().front(), static_cast<std::byte>(i));
      ASSERT_EQ(out.span().back(), static_cast<std::byte>(i));
    }
  }

  class Source final : public backends::ArraySource {
   public:
    Source(std::shared_ptr<const backends::Store> store,
           std::shared_ptr<const CountingCodec> codec)
        : store_(std::move(store)),
          plain_(
              model::Datatype::Integer(1, false),
              ChunkGrid::Regular({kChunks * kChunk}, {kChunk}, ChunkGrid::Edge::kFull).value()),
          spec_(plain_.spec()) {
      const backends::ChunkForm form{spec_.dtype, {kChunk}};
      spec_.codecs =
          backends::CodecChain::Make(form, {}, backends::MakeStoredBytes(spec_.dtype).value(),
                                     {std::move(codec)})
              .value();
    }
    const backends::ArraySpec& spec() const override { return spec_; }
    model::Result<backends::ChunkLocation> Locate(std::span<const uint64_t> index,
                                                  backends::IndexCache&) const override {
      backends::ChunkLocation location;
      location.store = store_;
      location.key = test::TestSource::Key(index);
      location.pieces = {{}};
      return location;
    }

   private:
    const std::shared_ptr<const backends::Store> store_;
    const test::TestSource plain_;
    backends::ArraySpec spec_;
  };

  const std::shared_ptr<CountingCodec> codec_ = std::make_shared<CountingCodec>();
  std::shared_ptr<test::MemoryStore> memory_;
  std::shared_ptr<test::SlowStore> slow_;
  std::shared_ptr<const Source> source_;
  std::unique_ptr<ChunkCache> cache_;
  std::shared_ptr<ChunkLedger> ledger_;
  std::shared_ptr<const ArrayReader> reader_;
};

model::Result<void> WaitALittle(std::string_view) {
  std::this_thread::sleep_for(milliseconds(3));
  return {};
}

TEST_F(SlowArrayTest, FetchesRunSideBySideAndDecodersStayFew) {
  Make(WaitALittle);
  {
    Prefetcher prefetcher(*cache_, kLimits.decoders);
    ReadAll(prefetcher);
    EXPECT_GT(prefetcher.stats().loaded, 0u);
  }
  EXPECT_GE(slow_->reads().most(), 6);
  EXPECT_LE(slow_->reads().most(), 8 + 1) << "those ahead, and the reader's own";
  EXPECT_LE(codec_->decoding.most(), 4) << "as long as fetches do not wait, readers come extra";
}

TEST_F(SlowArrayTest, FetchesThatAreStuckDoNotKeepDecodersFromTheOthers) {
  std::atomic<int> others = 0;
  Make([&](std::string_view key) -> model::Result<void> {
    const bool is_stuck = key == "c1" || key == "c2" || key == "c3" || key == "c4";
    if (!is_stuck) {
      ++others;
      return {};
    }
    if (Eventually([&] { return others >= 30; })) return {};
    return model::Internal("the others were never read");
  });
  MakeSlow(cache_->pace());
  Prefetcher prefetcher(*cache_, kLimits.decoders);
  ReadStream stream(prefetcher, reader_);
  stream.OnRead(0, 60 * kChunk);
  EXPECT_TRUE(Eventually([&] { return prefetcher.stats().loaded >= 40; }));
  for (uint64_t chunk = 1; chunk <= 4; ++chunk) {
    EXPECT_THAT(reader_->Load(chunk), test::IsOk());
  }
}

TEST_F(SlowArrayTest, ThreadsThatAreNotNeededAnyMoreEnd) {
  std::atomic<bool> is_slow = true;
  Make(
      [&](std::string_view key) { return is_slow ? WaitALittle(key) : model::Result<void>(); });
  Prefetcher prefetcher(*cache_, kLimits.decoders);
  ReadAll(prefetcher);
  EXPECT_GT(prefetcher.stats().threads, 2u);
  is_slow = false;
  // However long it takes. What fetches measure while the machine is busy does not count.
  LoadPace& pace = cache_->pace();
  while (prefetcher.stats().threads != 2) {
    for (unsigned i = 0; i < kLimits.fetches; ++i) pace.NoteFetch(false);
    cache_->Forget(source_->id());
    ReadStream stream(prefetcher, reader_);
    stream.OnRead(0, kChunk);
    std::this_thread::sleep_for(milliseconds(1));
  }
}

TEST_F(SlowArrayTest, WhatIsOnItsWayStaysWithinTheBudget) {
  // An encoded and a decoded chunk each; the blocks of two loads, and no more.
  constexpr uint64_t kBudget = 4 * kChunk;
  std::atomic<uint64_t> most = 0;
  Make(
      [&](std::string_view key) {
        const uint64_t used = cache_->stats().used_bytes;
        for (uint64_t seen = most; used > seen && !most.compare_exchange_weak(seen, used);) {
        }
        return WaitALittle(key);
      },
      kBudget);
  MakeSlow(cache_->pace());
  std::vector<std::thread> readers;
  for (uint64_t reader = 0; reader < 6; ++reader) {
    readers.emplace_back([this, reader] {
      for (uint64_t i = 0; i < 20; ++i) {
        EXPECT_THAT(reader_->Load(20 * reader + i), test::IsOk());
      }
    });
  }
  for (std::thread& thread : readers) thread.join();
  EXPECT_GE(most, 2 * kChunk);
  EXPECT_LE(most, kBudget);
  EXPECT_LE(slow_->reads().most(), 2);
}

TEST_F(SlowArrayTest, ErrorsAheadAreTheReadersToSee) {
  Make([&](std::string_view key) -> model::Result<void> {
    if (key == "c5") return model::IoError(EIO, "c5");
    return WaitALittle(key);
  });
  Prefetcher prefetcher(*cache_, kLimits.decoders);
  ReadStream stream(prefetcher, reader_);
  stream.OnRead(0, 10 * kChunk);
  EXPECT_TRUE(Eventually([&] { return prefetcher.stats().loaded >= 9; }));
  EXPECT_FALSE(Contains(5));
  EXPECT_THAT(reader_->Load(5), test::IsErrno(EIO));
  EXPECT_THAT(reader_->Load(6), test::IsOk());
}

TEST_F(SlowArrayTest, AChunkThatChangesIsStale) {
  Make(WaitALittle);
  Prefetcher prefetcher(*cache_, kLimits.decoders);
  EXPECT_THAT(reader_->Load(3), test::IsOk());
  cache_->Forget(source_->id());
  memory_->Put("c3", std::string(kChunk, 'x'));
  ReadStream stream(prefetcher, reader_);
  stream.OnRead(2 * kChunk, kChunk);
  EXPECT_TRUE(Eventually([&] { return ledger_->has_changed(); }));
  EXPECT_THAT(reader_->Load(3), test::IsStale());
}

TEST_F(SlowArrayTest, AReaderThatGoesLeavesNothingBehind) {
  std::mutex mutex;
  Make([&](std::string_view) -> model::Result<void> {
    const std::scoped_lock waits(mutex);
    return {};
  });
  Prefetcher prefetcher(*cache_, kLimits.decoders);
  std::unique_lock stop(mutex);  // released before the threads of `prefetcher` are awaited
  std::weak_ptr<const ArrayReader> watched = reader_;
  {
    ReadStream stream(prefetcher, std::exchange(reader_, nullptr));
    stream.OnRead(0, 40 * kChunk);
    // Two, and a few more if the first ones wait for long before the others are asked for.
    ASSERT_TRUE(Eventually([&] { return slow_->reads().now() >= 2; }));
  }
  EXPECT_GE(prefetcher.stats().cancelled, 40u - kLimits.fetches);
  EXPECT_FALSE(watched.expired()) << "fetches are under way";
  stop.unlock();
  EXPECT_TRUE(Eventually([&] { return watched.expired(); }));
  EXPECT_LE(prefetcher.stats().loaded, kLimits.fetches);
}

}  // namespace
}  // namespace ndlfs::cache
