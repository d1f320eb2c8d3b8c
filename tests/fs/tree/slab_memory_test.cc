// SPDX-License-Identifier: MIT
#include "fs/tree/slab_memory.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace ndlfs::fs {
namespace {

using Text = std::shared_ptr<std::string>;

Text Make(SlabMemory& memory, std::string text) {
  return std::allocate_shared<std::string>(SlabAllocator<std::string>(memory), std::move(text));
}

TEST(SlabMemoryTest, ObjectsKeepTheirValuesWhileOthersGo) {
  SlabMemory memory;
  std::vector<Text> all;
  for (int i = 0; i < 1000; ++i) all.push_back(Make(memory, std::to_string(i)));
  for (size_t i = 0; i < all.size(); i += 2) all[i] = nullptr;
  for (size_t i = 1; i < all.size(); i += 2) EXPECT_EQ(*all[i], std::to_string(i));
}

TEST(SlabMemoryTest, TheMemoryOfWhatHasGoneIsUsedAgain) {
  SlabMemory memory;
  std::set<void*> places;
  for (int i = 0; i < 100; ++i) {
    void* const place = memory.Allocate();
    places.insert(place);
    memory.Free(place);
  }
  EXPECT_EQ(places.size(), 1u);
}

TEST(SlabMemoryTest, ThreadsShareIt) {
  SlabMemory memory;
  const auto work = [&] {
    std::vector<Text> mine;
    for (int i = 0; i < 5000; ++i) {
      mine.push_back(Make(memory, std::to_string(i)));
      if (i % 3 == 0) mine[static_cast<size_t>(i / 2)] = nullptr;
    }
    for (size_t i = 0; i < mine.size(); ++i) {
      if (mine[i]) EXPECT_EQ(*mine[i], std::to_string(i));
    }
  };
  std::thread other(work);
  work();
  other.join();
}

}  // namespace
}  // namespace ndlfs::fs
