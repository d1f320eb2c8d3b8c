// SPDX-License-Identifier: MIT
#include "cache/chunk_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <random>
#include <stdexcept>
#include <thread>

#include "backends/store/caller.h"
#include "model/memory_budget.h"

namespace ndlfs::cache {
namespace {

using backends::Bytes;
using testing::HasSubstr;

// A block of `size` bytes that all say `mark`.
ChunkCache::Loader BlockOf(size_t size, int mark) {
  return [=]() -> model::Result<Bytes> {
    Bytes bytes(size);
    if (size != 0) std::memset(bytes.data(), mark, size);
    return bytes;
  };
}

ChunkCache::Loader MustNotLoad() {
  return []() -> model::Result<Bytes> {
    ADD_FAILURE() << "loaded again";
    return Bytes(1);
  };
}

TEST(ChunkCacheTest, LoadsABlockOnceAndKeepsIt) {
  ChunkCache cache(1000);
  const auto first = cache.GetOrLoad({1, 2}, 100, 0, BlockOf(100, 7)).value();
  const auto again = cache.GetOrLoad({1, 2}, 100, 0, MustNotLoad()).value();
  EXPECT_EQ(first, again);
  EXPECT_EQ(std::to_integer<int>(again->data()[99]), 7);
  EXPECT_EQ(cache.stats().hits, 1u);
  EXPECT_EQ(cache.stats().misses, 1u);
}

TEST(ChunkCacheTest, EvictsTheLeastRecentlyUsed) {
  ChunkCache cache(300);
  for (uint64_t block = 0; block < 3; ++block) {
    ASSERT_TRUE(cache.GetOrLoad({1, block}, 100, 0, BlockOf(100, 0)));
  }
  ASSERT_TRUE(cache.GetOrLoad({1, 0}, 100, 0, MustNotLoad()));
  ASSERT_TRUE(cache.GetOrLoad({1, 3}, 100, 0, BlockOf(100, 0)));
  EXPECT_TRUE(cache.Contains({1, 0}));
  EXPECT_FALSE(cache.Contains({1, 1}));
  EXPECT_TRUE(cache.Contains({1, 2}));
  EXPECT_EQ(cache.stats().used_bytes, 300u);
}

TEST(ChunkCacheTest, ARetiredBlockGoesWhenTheNextOneComes) {
  ChunkCache cache(1000);
  for (uint64_t block = 0; block < 3; ++block) {
    ASSERT_TRUE(cache.GetOrLoad({1, block}, 100, 0, BlockOf(100, 0)));
  }
  cache.Retire({1, 1});
  cache.Retire({1, 2});
  cache.Retire({1, 7});  // never was there
  EXPECT_TRUE(cache.Contains({1, 2}));
  ASSERT_TRUE(cache.GetOrLoad({1, 1}, 100, 0, MustNotLoad()));  // somebody wants it after all
  ASSERT_TRUE(cache.GetOrLoad({1, 3}, 100, 0, BlockOf(100, 0)));
  EXPECT_FALSE(cache.Contains({1, 2}));
  ASSERT_TRUE(cache.GetOrLoad({1, 4}, 100, 0, BlockOf(100, 0)));
  EXPECT_TRUE(cache.Contains({1, 0}));
  EXPECT_TRUE(cache.Contains({1, 1}));
}

TEST(ChunkCacheTest, APinnedBlockStaysChargedAfterItsEviction) {
  ChunkCache cache(100);
  auto pinned = cache.GetOrLoad({1, 0}, 100, 0, BlockOf(100, 5)).value();
  std::thread other([&] { ASSERT_TRUE(cache.GetOrLoad({1, 1}, 100, 0, BlockOf(100, 0))); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(cache.stats().used_bytes, 100u);  // the other one waits
  EXPECT_EQ(std::to_integer<int>(pinned->data()[50]), 5);
  pinned.reset();
  other.join();
  EXPECT_TRUE(cache.Contains({1, 1}));
  EXPECT_EQ(cache.stats().used_bytes, 100u);
}

TEST(ChunkCacheTest, ABlockLargerThanTheBudgetGetsThroughAlone) {
  ChunkCache cache(10);
  EXPECT_TRUE(cache.GetOrLoad({1, 0}, 1000, 1000, BlockOf(1000, 0)));
  EXPECT_TRUE(cache.GetOrLoad({1, 1}, 1000, 1000, BlockOf(1000, 0)));
  EXPECT_LE(cache.stats().used_bytes, 1000u);
}

TEST(ChunkCacheTest, BlocksLeaveForWhatOthersTake) {
  ChunkCache cache(1000);
  ASSERT_TRUE(cache.GetOrLoad({1, 0}, 400, 0, BlockOf(400, 0)));
  ASSERT_TRUE(cache.GetOrLoad({1, 1}, 400, 0, BlockOf(400, 0)));
  const model::MemoryBudget::Held others(model::MemoryBudget::kCharged + 300);
  EXPECT_FALSE(cache.Contains({1, 0}));
  EXPECT_TRUE(cache.Contains({1, 1}));
  const model::MemoryBudget::Held more(2000);
  EXPECT_FALSE(cache.Contains({1, 1}));
  // One load at a time goes on.
  EXPECT_TRUE(cache.GetOrLoad({1, 2}, 400, 0, BlockOf(400, 0)));
}

TEST(ChunkCacheTest, ChargesWhatABlockReallyOccupies) {
  ChunkCache cache(1000);
  ASSERT_TRUE(cache.GetOrLoad({1, 0}, 10, 50, BlockOf(400, 0)));
  EXPECT_EQ(cache.stats().used_bytes, 400u);
  ASSERT_TRUE(cache.GetOrLoad({1, 1}, 10, 50, BlockOf(900, 0)));
  EXPECT_FALSE(cache.Contains({1, 0}));
}

TEST(ChunkCacheTest, ALoadGivesBackWhatItTurnsOutNotToNeed) {
  ChunkCache cache(1000);
  std::vector<uint64_t> used;
  const auto load = [&](ChunkCache::Reservation& reserved) {
    const auto note = [&] { used.push_back(cache.stats().used_bytes); };
    note();
    reserved.NeedsOnly(300);
    note();
    reserved.NeedsOnly(500);  // it has no more
    note();
    EXPECT_TRUE(cache.GetOrLoad({1, 1}, 600, 0, BlockOf(600, 0)));
    note();
    return BlockOf(100, 0)();
  };
  ASSERT_TRUE(cache.GetOrLoad({1, 0}, 100, 900, load));
  EXPECT_THAT(used, testing::ElementsAre(1000, 400, 400, 1000));
  EXPECT_EQ(cache.stats().used_bytes, 700u);
}

TEST(ChunkCacheTest, ConcurrentMissesLoadOnceAndAllGetTheBlock) {
  ChunkCache cache(1 << 20);
  constexpr int kThreads = 8;
  std::atomic<int> loads = 0;
  std::barrier start(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      const auto block = cache.GetOrLoad({9, 9}, 64, 0, [&]() -> model::Result<Bytes> {
        ++loads;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return BlockOf(64, 3)();
      });
      ASSERT_TRUE(block);
      EXPECT_EQ(std::to_integer<int>((*block)->data()[0]), 3);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(loads, 1);
}

TEST(ChunkCacheTest, AFailureReachesEveryoneAndIsTriedAgain) {
  ChunkCache cache(1000);
  std::barrier start(2);
  const auto fail = [&]() -> model::Result<Bytes> {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return model::Corrupt("bad checksum");
  };
  const auto attempt = [&] {
    start.arrive_and_wait();
    EXPECT_THAT(cache.GetOrLoad({1, 0}, 100, 0, fail).error().message(),
                HasSubstr("bad checksum"));
  };
  std::thread other(attempt);
  attempt();
  other.join();
  EXPECT_EQ(cache.stats().used_bytes, 0u);
  EXPECT_TRUE(cache.GetOrLoad({1, 0}, 100, 0, BlockOf(100, 0)));
}

TEST(ChunkCacheTest, AnIndexIsLoadedWhileTheBudgetIsTaken) {
  ChunkCache cache(100);
  const auto block = cache.GetOrLoad({1, 0}, 100, 0, [&]() -> model::Result<Bytes> {
    EXPECT_TRUE(cache.GetOrLoad(1, 0, BlockOf(16, 1)));  // as Locate does
    return BlockOf(100, 0)();
  });
  EXPECT_TRUE(block);
}

// An index that is no block of bytes.
struct Table {
  uint64_t held_bytes() const { return 60; }
};

TEST(ChunkCacheTest, ObjectsOfIndexesAreChargedByTheirWeight) {
  ChunkCache cache(100);
  int loads = 0;
  const auto load = [&]() -> model::Result<std::shared_ptr<const Table>> {
    ++loads;
    return std::make_shared<const Table>();
  };
  auto table = cache.IndexCache::GetOrLoad<Table>(1, 0, load).value();
  EXPECT_EQ(cache.IndexCache::GetOrLoad<Table>(1, 0, load).value(), table);
  EXPECT_EQ(loads, 1);
  EXPECT_EQ(cache.stats().used_bytes, 60u);
  EXPECT_TRUE(cache.GetOrLoad({2, 0}, 40, 0, BlockOf(40, 0)));
  EXPECT_EQ(cache.IndexCache::GetOrLoad<Table>(1, 0, load).value(), table);
  table.reset();
  EXPECT_TRUE(cache.GetOrLoad({2, 1}, 50, 0, BlockOf(50, 0)));
  EXPECT_EQ(cache.stats().used_bytes, 50u) << "the block was used before the table";
  EXPECT_TRUE(cache.IndexCache::GetOrLoad<Table>(1, 0, load));
  EXPECT_EQ(loads, 2);
}

TEST(ChunkCacheTest, ForgetDropsOneArrayOnly) {
  ChunkCache cache(1000);
  ASSERT_TRUE(cache.GetOrLoad({1, 0}, 100, 0, BlockOf(100, 0)));
  ASSERT_TRUE(cache.GetOrLoad({2, 0}, 100, 0, BlockOf(100, 0)));
  cache.Forget(1);
  EXPECT_FALSE(cache.Contains({1, 0}));
  EXPECT_TRUE(cache.Contains({2, 0}));
  EXPECT_EQ(cache.stats().used_bytes, 100u);
}

TEST(ChunkCacheTest, OutOfMemoryIsAnErrorOfThatBlock) {
  ChunkCache cache(1000);
  const auto result =
      cache.GetOrLoad({1, 0}, 8, 0, []() -> model::Result<Bytes> { throw std::bad_alloc(); });
  EXPECT_EQ(result.error().sys_errno(), ENOMEM);
  EXPECT_EQ(cache.stats().used_bytes, 0u);
}

TEST(ChunkCacheTest, KnowledgeOfAbsentChunksIsBoundedToo) {
  constexpr uint64_t kBudget = 1 << 20;
  ChunkCache cache(kBudget);
  for (uint64_t block = 0; block < 100'000; ++block) {
    ASSERT_TRUE(cache.GetOrLoad({1, block}, 0, 0, BlockOf(0, 0)));
  }
  EXPECT_LT(cache.stats().blocks, kBudget / 256);
  EXPECT_TRUE(cache.Contains({1, 99'999}));
  ASSERT_TRUE(cache.GetOrLoad({2, 0}, kBudget / 2, 0, BlockOf(kBudget / 2, 7)));
  ASSERT_TRUE(cache.GetOrLoad({2, 0}, kBudget / 2, 0, MustNotLoad()));
}

TEST(ChunkCacheTest, WhateverALoaderThrowsIsAnErrorForAllWhoWait) {
  ChunkCache cache(1000);
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto thrown = cache.GetOrLoad(
        {1, 0}, 100, 0, []() -> model::Result<Bytes> { throw std::length_error("too long"); });
    ASSERT_FALSE(thrown);
    EXPECT_THAT(thrown.error().message(), HasSubstr("too long"));
    EXPECT_EQ(cache.stats().used_bytes, 0u);
  }
}

// Random requests of many threads against what each block must hold; the
// budget is respected all along, and everything is given back in the end.
TEST(ChunkCacheTest, RandomRequestsOfManyThreadsSeeTheRightBlocksWithinTheBudget) {
  constexpr uint64_t kBudget = 5000;
  constexpr size_t kLargest = 1000;
  constexpr int kThreads = 6;
  ChunkCache cache(kBudget);
  std::atomic<bool> exceeded = false;
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < 3000; ++i) {
      const BlockKey key{random() % 4, random() % 16};
      const size_t size = 1 + (key.array * 16 + key.block) * 997 % kLargest;
      const int mark = static_cast<int>(key.array * 16 + key.block);
      if (random() % 200 == 0) cache.Forget(key.array);
      const bool fails = random() % 50 == 0;
      const auto block = cache.GetOrLoad(key, size, size / 2, [&]() -> model::Result<Bytes> {
        if (cache.stats().used_bytes > kBudget) exceeded = true;
        if (fails) return model::Corrupt("by chance");
        return BlockOf(size, mark)();
      });
      if (!block) continue;
      ASSERT_EQ((*block)->size(), size);
      ASSERT_EQ(std::to_integer<int>((*block)->data()[size - 1]), mark);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(exceeded);
  for (uint64_t array = 0; array < 4; ++array) cache.Forget(array);
  EXPECT_EQ(cache.stats().used_bytes, 0u);
  EXPECT_EQ(cache.stats().blocks, 0u);
}

// Gets what it asks for, and shows that it was found in the cache meanwhile.
class TestOverflow final : public ChunkCache::Overflow {
 public:
  explicit TestOverflow(ChunkCache& cache) : cache_(cache) {}
  bool Wants(uint64_t block) override { return block % 2 == 0; }
  void Take(uint64_t block, const Bytes& bytes) override {
    EXPECT_TRUE(cache_.Contains({1, block}));
    EXPECT_EQ(std::to_integer<uint64_t>(bytes.data()[0]), block);
    taken_.push_back(block);
  }
  std::vector<uint64_t> taken_;

 private:
  ChunkCache& cache_;
};

TEST(ChunkCacheTest, OffersWhatItEvictsToTheOverflowOfTheArray) {
  ChunkCache cache(300);
  const auto overflow = std::make_shared<TestOverflow>(cache);
  cache.AddOverflow(1, overflow);
  for (uint64_t block = 0; block < 7; ++block) {
    ASSERT_TRUE(cache.GetOrLoad({1, block}, 100, 0, BlockOf(100, static_cast<int>(block))));
    ASSERT_TRUE(cache.GetOrLoad({2, block}, 100, 0, BlockOf(100, 99)));  // another array
  }
  EXPECT_THAT(overflow->taken_, testing::ElementsAre(0, 2, 4));
  EXPECT_FALSE(cache.Contains({1, 0}));
  cache.RemoveOverflow(1, overflow.get());
  for (uint64_t block = 10; block < 20; ++block) {
    ASSERT_TRUE(cache.GetOrLoad({1, block}, 100, 0, BlockOf(100, 0)));
  }
  EXPECT_EQ(overflow->taken_.size(), 3u);
  EXPECT_LE(cache.stats().used_bytes, 300u);
}

// Loads blocks of 100 bytes of the array `user` as that user.
void LoadAs(uid_t user, ChunkCache& cache, uint64_t begin, uint64_t end) {
  const backends::CallerScope scope(backends::FindCaller(user, 100, {}));
  for (uint64_t block = begin; block < end; ++block) {
    ASSERT_TRUE(cache.GetOrLoad({user, block}, 100, 0, BlockOf(100, 0)));
  }
}

uint64_t CountBlocks(const ChunkCache& cache, uint64_t array, uint64_t end) {
  uint64_t count = 0;
  for (uint64_t block = 0; block < end; ++block)
    count += cache.Contains({array, block}) ? 1 : 0;
  return count;
}

TEST(ChunkCacheTest, AUserWhoLoadsMuchLeavesOthersTheirShare) {
  ChunkCache cache(1000);
  LoadAs(1, cache, 0, 4);
  LoadAs(2, cache, 0, 100);
  EXPECT_EQ(CountBlocks(cache, 1, 4), 4u);
  EXPECT_EQ(CountBlocks(cache, 2, 100), 6u);
  LoadAs(1, cache, 0, 100);
  EXPECT_GE(CountBlocks(cache, 2, 100), 4u);  // a share, but for the last block
  EXPECT_EQ(cache.stats().used_bytes, 1000u);
}

TEST(ChunkCacheTest, AUserAloneHasAll) {
  ChunkCache cache(1000);
  LoadAs(2, cache, 0, 100);
  EXPECT_EQ(CountBlocks(cache, 2, 100), 10u);
}

TEST(ChunkCacheTest, ALoadThatFillsTheCacheKeepsNoOtherUserWaiting) {
  ChunkCache cache(1000);
  const backends::CallerScope scope(backends::FindCaller(2, 100, {}));
  const auto huge = cache.GetOrLoad({2, 0}, 5000, 0, [&]() -> model::Result<Bytes> {
    LoadAs(1, cache, 0, 3);
    return BlockOf(5000, 0)();
  });
  EXPECT_TRUE(huge);
}

}  // namespace
}  // namespace ndlfs::cache
