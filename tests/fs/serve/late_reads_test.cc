// SPDX-License-Identifier: MIT
#include "fs/serve/late_reads.h"

#include <gtest/gtest.h>

#include <chrono>

namespace ndlfs::fs {
namespace {

using std::chrono::milliseconds;

class LateReadsTest : public testing::Test {
 protected:
  LateReads late_;
  const LateReads::Clock::time_point now_{std::chrono::hours(1)};
};

TEST_F(LateReadsTest, TellsOnceOfAPageOfALateRead) {
  late_.Note(8192, 16384, now_);
  EXPECT_TRUE(late_.Take(12288, 4096, now_ + milliseconds(1)));
  EXPECT_FALSE(late_.Take(12288, 4096, now_ + milliseconds(2))) << "the program tries again";
}

TEST_F(LateReadsTest, OtherPartsOfTheFileAreReadAsEver) {
  late_.Note(8192, 16384, now_);
  EXPECT_FALSE(late_.Take(4096, 4096, now_));
  EXPECT_FALSE(late_.Take(4096, 8192, now_));
  EXPECT_FALSE(late_.Take(20480, 8192, now_));
  EXPECT_FALSE(late_.Take(UINT64_MAX - 4096, 4096, now_));
  EXPECT_TRUE(late_.Take(8192, 16384, now_));
}

TEST_F(LateReadsTest, ForgetsAfterAWhile) {
  late_.Note(0, 4096, now_);
  EXPECT_FALSE(late_.Take(0, 4096, now_ + milliseconds(1500)));
}

}  // namespace
}  // namespace ndlfs::fs
