// SPDX-License-Identifier: MIT
#include "model/memory_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>

#include "model/recently_used.h"
#include "tests/support/result.h"

namespace ndlfs::model {
namespace {

using test::IsError;
using testing::HasSubstr;
using Pool = MemoryBudget::Pool;

constexpr uint64_t kMiB = uint64_t{1} << 20;

TEST(MemoryBudgetTest, SharesOfPoolsAddUpToTheirPart) {
  for (const uint64_t cache : {uint64_t{0}, 16 * kMiB, 512 * kMiB, 65536 * kMiB}) {
    uint64_t sum = 0;
    for (const Pool pool :
         {Pool::kStores, Pool::kEntities, Pool::kNodes, Pool::kDocuments, Pool::kNdl,
          Pool::kListings, Pool::kWindows, Pool::kNames, Pool::kPages}) {
      sum += MemoryBudget::Share(pool, cache);
    }
    EXPECT_EQ(sum, 27 * kMiB + cache / 8 * 3);
  }
  static_assert(MemoryBudget::kProgram + MemoryBudget::kLoad + MemoryBudget::kCharged ==
                64 * kMiB);
}

TEST(MemoryBudgetTest, WhatIsChargedBeyondItsPartComesFromTheCache) {
  int asked = 0;
  MemoryBudget::SetCache(&asked, [&] { ++asked; });
  const MemoryBudget::Held first(MemoryBudget::kCharged);
  EXPECT_EQ(MemoryBudget::FromCache(), 0);
  EXPECT_EQ(asked, 0);
  {
    const MemoryBudget::Held second(3 * kMiB);
    EXPECT_EQ(MemoryBudget::FromCache(), 3 * kMiB);
    EXPECT_EQ(asked, 1);
  }
  EXPECT_EQ(MemoryBudget::FromCache(), 0);
  EXPECT_EQ(asked, 1);
  MemoryBudget::RemoveCache(&asked);
  const MemoryBudget::Held third(kMiB);
  EXPECT_EQ(asked, 1);
}

TEST(MemoryBudgetTest, PoolsChargeWhatTheyKeep) {
  const MemoryBudget::Held rest(MemoryBudget::kCharged);
  const auto object = std::make_shared<int>(1);
  {
    RecentlyUsed<int> pool(Pool::kNames);
    pool.Touch(object, 1000);
    EXPECT_EQ(MemoryBudget::FromCache(), 1000);
    pool.Touch(object, 3000);
    pool.Touch(std::make_shared<int>(2), 100);
    EXPECT_EQ(MemoryBudget::FromCache(), 3100);
    pool.Drop(object.get());
    EXPECT_EQ(MemoryBudget::FromCache(), 100);
    pool.Touch(object, MemoryBudget::Share(Pool::kNames));
    EXPECT_EQ(MemoryBudget::FromCache(), MemoryBudget::Share(Pool::kNames));
  }
  EXPECT_EQ(MemoryBudget::FromCache(), 0);
}

// The last test: limits are for as long as the process runs.
TEST(MemoryBudgetTest, WhatCannotBeHeldIsRefusedWithItsSize) {
  EXPECT_TRUE(MemoryBudget::CheckChunk(UINT64_MAX));
  MemoryBudget::Begin(16 * kMiB, 64 * kMiB);
  EXPECT_EQ(MemoryBudget::MostForChunk(), 72 * kMiB);
  EXPECT_TRUE(MemoryBudget::CheckChunk(72 * kMiB));
  EXPECT_THAT(MemoryBudget::CheckChunk(72 * kMiB + 1),
              IsError(ErrorCode::kLimit, HasSubstr("75497473 bytes")));
  MemoryBudget::Held held;
  EXPECT_TRUE(held.Grow(50 * kMiB));
  const auto more = held.Grow(3 * kMiB);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().sys_errno(), ENOMEM);
  EXPECT_THAT(more.error().message(), HasSubstr("2 MiB larger"));
}

}  // namespace
}  // namespace ndlfs::model
