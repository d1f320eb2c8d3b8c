// SPDX-License-Identifier: MIT
#include "fs/fuse/slab.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>

namespace ndlfs::fs {
namespace {

using Pointer = std::shared_ptr<int>;

TEST(SlabTest, NumberStandsForItsObjectUntilItIsRemoved) {
  Slab<std::string> slab;
  const auto a = slab.Add("a");
  const auto b = slab.Add("b");
  EXPECT_EQ(*slab.Find(a), "a");
  EXPECT_EQ(slab[b], "b");
  slab.Remove(a);
  EXPECT_EQ(slab.Find(a), nullptr);
  EXPECT_EQ(*slab.Find(b), "b");
  EXPECT_EQ(slab.size(), 1u);
}

TEST(SlabTest, NumbersThatAreNotInUseAreNotFound) {
  Slab<int> slab;
  EXPECT_EQ(slab.Find(0), nullptr);
  slab.Add(1);
  EXPECT_EQ(slab.Find(1), nullptr);
  EXPECT_EQ(slab.Find(64), nullptr);
  EXPECT_EQ(slab.Find(~Slab<int>::Index{0}), nullptr);
}

TEST(SlabTest, RemovedObjectIsDestroyedAtOnce) {
  Slab<Pointer> slab;
  const std::weak_ptr<int> seen = [&] {
    auto object = std::make_shared<int>(1);
    slab.Add(object);
    return std::weak_ptr<int>(object);
  }();
  EXPECT_FALSE(seen.expired());
  slab.Remove(0);
  EXPECT_TRUE(seen.expired());
}

TEST(SlabTest, AgreesWithAMapAfterRandomOperations) {
  Slab<int> slab;
  std::map<Slab<int>::Index, int> model;
  std::mt19937 random(1);
  for (int step = 0; step < 20'000; ++step) {
    // It grows to some hundred objects, and shrinks to none, in turns.
    const bool adds = random() % 8 < (step / 1000 % 2 == 0 ? 6u : 2u);
    if (adds) {
      const auto number = slab.Add(step);
      ASSERT_TRUE(model.emplace(number, step).second) << "a number was in use";
      ASSERT_LT(number, slab.limit());
    } else if (!model.empty()) {
      const auto it = std::next(model.begin(), static_cast<long>(random() % model.size()));
      ASSERT_EQ(slab[it->first], it->second);
      slab.Remove(it->first);
      model.erase(it);
    }
    ASSERT_EQ(slab.size(), model.size());
  }
  for (Slab<int>::Index number = 0; number < slab.limit(); ++number) {
    const auto it = model.find(number);
    const int* found = slab.Find(number);
    ASSERT_EQ(found != nullptr, it != model.end());
    if (found != nullptr) {
      EXPECT_EQ(*found, it->second);
    }
  }
}

TEST(SlabTest, NumbersAreUsedAgainBeforeThereAreMore) {
  Slab<int> slab;
  for (int i = 0; i < 1000; ++i) slab.Add(i);
  const auto limit = slab.limit();
  for (Slab<int>::Index number = 0; number < 1000; ++number) slab.Remove(number);
  for (int i = 0; i < 1000; ++i) slab.Add(i);
  EXPECT_EQ(slab.limit(), limit);
}

}  // namespace
}  // namespace ndlfs::fs
