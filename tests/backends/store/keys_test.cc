// SPDX-License-Identifier: MIT
#include "backends/store/keys.h"

#include <gtest/gtest.h>

#include <string>

namespace ndlfs::backends {
namespace {

TEST(JoinKeyTest, EmptySidesAddNothing) {
  EXPECT_EQ(JoinKey("a", "b/c"), "a/b/c");
  EXPECT_EQ(JoinKey("", "b"), "b");
  EXPECT_EQ(JoinKey("a", ""), "a");
  EXPECT_EQ(JoinKey("", ""), "");
}

TEST(CheckKeyTest, KeysAreBelowTheirStore) {
  for (const char* key : {"a", "a/b", "..a", "a./b.", "c/0/1"}) {
    EXPECT_TRUE(CheckKey(key)) << key;
  }
  for (const std::string& key :
       {std::string(), std::string("/a"), std::string("a/"), std::string("a//b"),
        std::string("."), std::string("a/../b"), std::string("a\0b", 3)}) {
    EXPECT_FALSE(CheckKey(key)) << key;
  }
}

}  // namespace
}  // namespace ndlfs::backends
