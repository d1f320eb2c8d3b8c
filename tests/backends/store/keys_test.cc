// SPDX-License-Identifier: MIT
#include "backends/store/keys.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "backends/store/local/paths.h"
#include "tests/support/python.h"

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

class PathBeneathTest : public ::testing::Test {
 protected:
  PathBeneathTest() : root_(SourceRoot::Open(directory_.path()).value()) {}
  std::string Beneath(const std::string& file_path, const std::string& name) {
    return PathBeneath(*root_, file_path, name).value_or("outside");
  }
  test::TemporaryDirectory directory_;
  std::shared_ptr<const SourceRoot> root_;
};

TEST_F(PathBeneathTest, NamesAreRelativeToTheFileThatHasThem) {
  EXPECT_EQ(Beneath("a.h5", "b.bin"), "b.bin");
  EXPECT_EQ(Beneath("x/y/a.h5", "b.bin"), "x/y/b.bin");
  EXPECT_EQ(Beneath("x/y/a.h5", "../z//./b.bin"), "x/z/b.bin");
  EXPECT_EQ(Beneath("x/a.h5", root_->path() + "/b.bin"), "b.bin");
}

TEST_F(PathBeneathTest, NamesThatClimbOutAreOutside) {
  EXPECT_EQ(Beneath("a.h5", "../b.bin"), "outside");
  EXPECT_EQ(Beneath("x/a.h5", "../../x/b.bin"), "outside");
  EXPECT_EQ(Beneath("a.h5", "/etc/passwd"), "outside");
  EXPECT_EQ(Beneath("a.h5", root_->path() + "x/b.bin"), "outside");
  EXPECT_EQ(Beneath("a.h5", root_->path() + "/../b.bin"), "outside");
}

TEST_F(PathBeneathTest, TheRootItselfIsEmpty) {
  EXPECT_EQ(Beneath("x/a.h5", ".."), "");
  EXPECT_EQ(Beneath("a.h5", ""), "");
}

}  // namespace
}  // namespace ndlfs::backends
