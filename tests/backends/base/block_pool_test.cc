// SPDX-License-Identifier: MIT
#include "backends/base/block_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "backends/base/bytes.h"

namespace ndlfs::backends {
namespace {

TEST(BlockPoolTest, KeepsNoMoreThanItPromises) {
  std::vector<Bytes> blocks;
  for (size_t i = 0; i < 40; ++i) blocks.emplace_back(size_t{1} << 20);
  blocks.clear();
  EXPECT_LE(BlockPool::kept_bytes(), BlockPool::kMaxBytes);
  { const Bytes large(BlockPool::kMaxBytes + 1); }
  EXPECT_LE(BlockPool::kept_bytes(), BlockPool::kMaxBytes);
}

TEST(BlockPoolTest, BlocksOfAllSizesAreWholeAndTheirOwn) {
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) {
    threads.emplace_back([seed] {
      std::mt19937 random(seed);
      std::vector<Bytes> held(8);
      for (int round = 0; round < 2000; ++round) {
        Bytes& bytes = held[random() % held.size()];
        bytes = Bytes(1 + random() % 600'000);
        ASSERT_EQ(reinterpret_cast<uintptr_t>(bytes.data()) % 64, 0u);
        // Both ends: sizes that share blocks must not be cut short.
        bytes.data()[0] = std::byte(seed);
        bytes.data()[bytes.size() - 1] = std::byte(seed);
        for (const Bytes& other : held) {
          if (other.empty()) continue;
          ASSERT_EQ(other.data()[0], std::byte(seed));
          ASSERT_EQ(other.data()[other.size() - 1], std::byte(seed));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace ndlfs::backends
