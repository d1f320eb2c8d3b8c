// SPDX-License-Identifier: MIT
#include "fs/tree/view/read_failures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "cache/chunk_ledger.h"

namespace ndlfs::fs {
namespace {

TEST(ReadFailuresTest, AreLinesEachToldOnce) {
  ReadFailures failures;
  EXPECT_EQ(failures.Text(), "");
  failures.Add("a: chunk 1: broken");
  failures.Add("a: chunk 2: broken");
  failures.Add("a: chunk 1: broken");
  EXPECT_EQ(failures.Text(), "a: chunk 1: broken\na: chunk 2: broken\n");
}

TEST(ReadFailuresTest, AreNoMoreThanAPersonReads) {
  ReadFailures failures;
  for (int i = 0; i < 100'000; ++i) failures.Add("chunk " + std::to_string(i));
  const std::string text = failures.Text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 101);
  EXPECT_TRUE(text.ends_with("chunk 99\nmore has failed since\n")) << text;
  ReadFailures longs;
  longs.Add(std::string(1 << 20, 'x'));
  EXPECT_EQ(longs.Text().size(), 4097u);
}

TEST(KeptFailuresTest, HoldAsLongAsTheMetadataAndForFewArrays) {
  KeptFailures kept;
  const auto array = [](uint64_t version) {
    return KeptFailures::Array{version, std::make_shared<ReadFailures>(),
                               std::make_shared<cache::ChunkLedger>()};
  };
  kept.Keep("a", array(1));
  EXPECT_TRUE(kept.Find("a", 1));
  EXPECT_FALSE(kept.Find("b", 1));
  EXPECT_FALSE(kept.Find("a", 2)) << "of other metadata";
  EXPECT_FALSE(kept.Find("a", 1)) << "which never come back";
  for (int i = 0; i < 1000; ++i) kept.Keep(std::to_string(i), array(1));
  EXPECT_TRUE(kept.Find("999", 1));
  EXPECT_FALSE(kept.Find("0", 1));
}

}  // namespace
}  // namespace ndlfs::fs
