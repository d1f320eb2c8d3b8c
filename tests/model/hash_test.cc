// SPDX-License-Identifier: MIT
#include "model/hash.h"

#include <gtest/gtest.h>

#include <string_view>

namespace ndlfs::model {
namespace {

// Of the test suite that the authors of FNV have published.
TEST(HashTest, Fnv1aIsAsPublished) {
  EXPECT_EQ(AddFnv(kFnvBegin, std::string_view("")), 0xcbf29ce484222325u);
  EXPECT_EQ(AddFnv(kFnvBegin, std::string_view("a")), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(AddFnv(kFnvBegin, std::string_view("foobar")), 0x85944171f73967e8u);
}

// The first numbers of SplitMix64 from 0.
TEST(HashTest, MixBitsIsTheFinalizerOfSplitMix64) {
  EXPECT_EQ(MixBits(0x9e3779b97f4a7c15u), 0xe220a8397b1dcdafu);
  EXPECT_EQ(MixBits(0x3c6ef372fe94f82au), 0x6e789e6aa1b965f4u);
}

TEST(HashTest, OrderCounts) {
  EXPECT_NE(CombineHash(CombineHash(0, 1), 2), CombineHash(CombineHash(0, 2), 1));
}

}  // namespace
}  // namespace ndlfs::model
