// SPDX-License-Identifier: MIT
#include "fs/tree/read_failures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

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

}  // namespace
}  // namespace ndlfs::fs
