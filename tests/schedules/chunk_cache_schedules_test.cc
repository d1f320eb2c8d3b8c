// SPDX-License-Identifier: MIT
//
// Whatever the order: readers of a block get what one load has made, no block is loaded twice
// at once, the budget holds, and everybody who waits for memory gets some.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <vector>

#include "cache/chunk_cache.h"
#include "model/error.h"
#include "tests/schedules/run_together.h"
#include "tests/schedules/scheduler.h"

namespace ndlfs::cache {
namespace {

using backends::Bytes;

constexpr uint64_t kBlockBytes = 100;

// The array whose blocks the threads read. Each block consists of its own number.
class Blocks {
 public:
  explicit Blocks(uint64_t budget) : cache_(budget) {}

  // `transient`: bytes that the load needs besides the block. A load fails where `fails` says.
  void Read(uint64_t block, uint64_t transient = 0, bool fails = false) {
    const auto load = [&]() -> model::Result<Bytes> {
      EXPECT_FALSE(is_loading_[block].exchange(true)) << "block " << block;
      test::SchedulePoint();
      CheckBudget();
      is_loading_[block] = false;
      if (fails) return model::Corrupt("no such block");
      Bytes bytes(kBlockBytes);
      std::memset(bytes.data(), static_cast<int>(block), bytes.size());
      return bytes;
    };
    const auto handle = cache_.GetOrLoad({1, block}, kBlockBytes, transient, load);
    if (!handle) {
      EXPECT_EQ(handle.error().message(), "no such block");
      ++failures;
      return;
    }
    test::SchedulePoint();
    EXPECT_EQ((*handle)->size(), kBlockBytes);
    for (const std::byte byte : (*handle)->span()) EXPECT_EQ(byte, std::byte(block));
    ++reads;
  }
  void CheckBudget() const {
    const ChunkCache::Stats stats = cache_.stats();
    EXPECT_LE(stats.used_bytes, stats.budget_bytes);
  }
  ChunkCache& cache() { return cache_; }

  std::atomic<int> reads{0};
  std::atomic<int> failures{0};

 private:
  ChunkCache cache_;
  std::array<std::atomic<bool>, 8> is_loading_ = {};
};

TEST(ChunkCacheSchedulesTest, ReadersShareLoadsWithinTheBudget) {
  test::ForRandomSchedules(1000, [] {
    Blocks blocks(3 * kBlockBytes);
    const auto read = [&](std::vector<uint64_t> numbers) {
      return [&blocks, numbers = std::move(numbers)] {
        for (const uint64_t number : numbers) blocks.Read(number, kBlockBytes / 2);
      };
    };
    test::RunTogether({read({0, 1, 2, 3, 0}), read({0, 3, 2, 1, 0}), read({4, 0, 4, 1})});
    EXPECT_EQ(blocks.reads, 14);
    blocks.CheckBudget();
  });
}

TEST(ChunkCacheSchedulesTest, TwoReadersOfOneBlockInEverySmallSchedule) {
  const uint64_t count = test::ForAllSchedules(2, 20'000, [] {
    Blocks blocks(2 * kBlockBytes);
    test::RunTogether({[&] { blocks.Read(0); }, [&] { blocks.Read(0); }});
    EXPECT_EQ(blocks.reads, 2);
    EXPECT_EQ(blocks.cache().stats().misses, 1u);
  });
  EXPECT_LT(count, 20'000u) << "not all of them";
}

TEST(ChunkCacheSchedulesTest, OneBlockFitsAndAllGetTheirs) {
  test::ForRandomSchedules(1000, [] {
    Blocks blocks(kBlockBytes);
    const auto read = [&](uint64_t from) {
      for (uint64_t block = from; block < from + 3; ++block) blocks.Read(block);
    };
    test::RunTogether({[&] { read(0); }, [&] { read(1); }, [&] { read(2); }});
    EXPECT_EQ(blocks.reads, 9);
  });
}

// Those who waited for a load that fails get its error; the next ones try again.
TEST(ChunkCacheSchedulesTest, AFailedLoadIsNotKept) {
  test::ForRandomSchedules(500, [] {
    Blocks blocks(3 * kBlockBytes);
    test::RunTogether({[&] { blocks.Read(0, 0, true); }, [&] { blocks.Read(0, 0, true); },
                       [&] { blocks.Read(1); }});
    EXPECT_EQ(blocks.failures, 2);
    blocks.Read(0);
    EXPECT_EQ(blocks.reads, 2);
  });
}

TEST(ChunkCacheSchedulesTest, BlocksAreForgottenAndRetiredWhileTheyAreRead) {
  test::ForRandomSchedules(1000, [] {
    Blocks blocks(2 * kBlockBytes);
    test::RunTogether({[&] {
                         for (const uint64_t block : {0, 1, 0, 2}) blocks.Read(block);
                       },
                       [&] {
                         for (const uint64_t block : {1, 0, 2, 1}) {
                           blocks.Read(block);
                           blocks.cache().Retire({1, block});
                         }
                       },
                       [&] {
                         for (int i = 0; i < 3; ++i) blocks.cache().Forget(1);
                       }});
    EXPECT_EQ(blocks.reads, 8);
    blocks.cache().Forget(1);
    EXPECT_EQ(blocks.cache().stats().used_bytes, 0u);
    EXPECT_EQ(blocks.cache().stats().blocks, 0u);
  });
}

}  // namespace
}  // namespace ndlfs::cache
