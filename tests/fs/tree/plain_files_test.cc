// SPDX-License-Identifier: MIT
#include "fs/tree/plain_files.h"

#include <gtest/gtest.h>

namespace ndlfs::fs {
namespace {

backends::FileStamp Version(uint64_t number) {
  return {.device = 2, .inode = number, .size = 100, .mtime_ns = 5, .ctime_ns = 7};
}

TEST(PlainFilesTest, KnowsAVersionByAllThatStatSays) {
  PlainFiles files;
  const backends::FileStamp version = Version(1);
  EXPECT_FALSE(files.Contains(version));
  files.Add(version);
  EXPECT_TRUE(files.Contains(version));
  const auto other = [&](auto change) {
    backends::FileStamp changed = version;
    change(changed);
    return files.Contains(changed);
  };
  EXPECT_FALSE(other([](auto& v) { ++v.device; }));
  EXPECT_FALSE(other([](auto& v) { ++v.inode; }));
  EXPECT_FALSE(other([](auto& v) { ++v.size; }));
  EXPECT_FALSE(other([](auto& v) { ++v.mtime_ns; }));
  EXPECT_FALSE(other([](auto& v) { ++v.ctime_ns; }));
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
