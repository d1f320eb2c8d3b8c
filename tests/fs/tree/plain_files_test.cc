// SPDX-License-Identifier: MIT
#include "fs/tree/plain_files.h"

#include <gtest/gtest.h>

namespace ndlfs::fs {
namespace {

backends::Generation Version(uint64_t number) {
  return backends::Generation::OfNumbers({2, number, 100, 5, 7});
}

TEST(PlainFilesTest, KnowsAVersionByAllThatStatSays) {
  PlainFiles files;
  const backends::Generation version = Version(1);
  EXPECT_FALSE(files.Contains(version));
  files.Add(version);
  EXPECT_TRUE(files.Contains(version));
  for (size_t i = 0; i < 5; ++i) {
    backends::Generation::Numbers other = {2, 1, 100, 5, 7};
    ++other[i];
    EXPECT_FALSE(files.Contains(backends::Generation::OfNumbers(other))) << i;
  }
}

TEST(PlainFilesTest, RemembersAHundredThousandAndForgetsTheOldestOfMillions) {
  PlainFiles files;
  constexpr uint64_t kMany = 100'000;
  for (uint64_t i = 0; i < kMany; ++i) files.Add(Version(i));
  const auto known = [&](uint64_t begin) {
    uint64_t count = 0;
    for (uint64_t i = begin; i < begin + kMany; ++i) count += files.Contains(Version(i));
    return count;
  };
  EXPECT_GT(known(0), kMany * 99 / 100);
  EXPECT_EQ(known(kMany), 0u);
  for (uint64_t i = kMany; i < 20 * kMany; ++i) files.Add(Version(i));
  EXPECT_EQ(known(0), 0u);
  EXPECT_GT(known(19 * kMany), kMany * 9 / 10);
}

}  // namespace
}  // namespace ndlfs::fs
