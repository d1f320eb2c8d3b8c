// SPDX-License-Identifier: MIT
#include "backends/store/access.h"

#include <gtest/gtest.h>

namespace ndlfs::backends {
namespace {

TEST(BothTest, OfOneOwnerIsWhatBothGrant) {
  EXPECT_EQ(Both({1, 1, 0755}, {1, 1, 0640}).mode, mode_t{0640});
  EXPECT_EQ(Both({1, 1, 0640}, {1, 1, 0755}).mode, mode_t{0640});
  EXPECT_EQ(Both({1, 1, 0444}, {1, 1, 0222}).mode, mode_t{0});
}

TEST(BothTest, AnotherOwnerHasWhatOthersHave) {
  EXPECT_EQ(Both({1, 1, 0444}, {2, 1, 0640}).mode, mode_t{0040});
  EXPECT_EQ(Both({1, 1, 0444}, {2, 1, 0644}).mode, mode_t{0444});
}

TEST(BothTest, AnotherGroupHasWhatOthersHave) {
  EXPECT_EQ(Both({1, 1, 0444}, {1, 2, 0640}).mode, mode_t{0400});
  EXPECT_EQ(Both({1, 1, 0444}, {2, 2, 0664}).mode, mode_t{0444});
  EXPECT_EQ(Both({1, 1, 0444}, {2, 2, 0660}).mode, mode_t{0});
}

TEST(BothTest, KeepsOwnerAndGroupOfTheFirst) {
  const Access both = Both({1, 2, 0444}, {3, 4, 0444});
  EXPECT_EQ(both.uid, 1u);
  EXPECT_EQ(both.gid, 2u);
}

TEST(CoversReadersTest, AsksForReadingAlone) {
  EXPECT_TRUE(CoversReaders({1, 1, 0644}, {1, 1, 0755}));
  EXPECT_TRUE(CoversReaders({1, 1, 0755}, {1, 1, 0444}));
  EXPECT_TRUE(CoversReaders({1, 1, 0600}, {1, 1, 0640}));
  EXPECT_TRUE(CoversReaders({1, 1, 0640}, {2, 2, 0644}));
  EXPECT_TRUE(CoversReaders({1, 1, 0}, {2, 2, 0}));
  EXPECT_FALSE(CoversReaders({1, 1, 0644}, {1, 1, 0640}));
  EXPECT_FALSE(CoversReaders({1, 1, 0640}, {1, 2, 0640}));
  EXPECT_FALSE(CoversReaders({1, 1, 0600}, {2, 1, 0640}));
}

}  // namespace
}  // namespace ndlfs::backends
