// SPDX-License-Identifier: MIT
//
// Whatever the order: an inode is there as long as the kernel counts lookups of it, and then
// gone, with its node.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "fs/fuse/inode_table.h"
#include "tests/schedules/run_together.h"
#include "tests/schedules/scheduler.h"

namespace ndlfs::fs {
namespace {

// One version of a file or folder.
class Version final : public TreeNode {
 public:
  explicit Version(uint64_t number) : number_(number) {}
  model::Result<Attributes> Stat() const override { return Attributes(); }
  Relation Compare(const TreeNode& fresh) const override {
    const bool is_same = static_cast<const Version&>(fresh).number_ == number_;
    return is_same ? Relation::kSame : Relation::kDifferent;
  }
  bool IsListedAs(const ListedVersion& version) const override {
    return version.contents == number_;
  }
  uint64_t ListedFacts() const override { return number_; }

 private:
  const uint64_t number_;
};

TEST(InodeTableSchedulesTest, LookupsAndForgetsLeaveNothing) {
  test::ForRandomSchedules(1000, [] {
    InodeTable table(std::make_shared<Version>(0));
    const auto use = [&](uint64_t version) {
      const auto node = std::make_shared<Version>(version);
      for (int i = 0; i < 3; ++i) {
        const auto folder = table.Lookup(InodeTable::kRoot, "folder", node);
        ASSERT_TRUE(folder);
        const auto file = table.Lookup(folder->nodeid, "file", node);
        ASSERT_TRUE(file);
        EXPECT_TRUE(table.Find(file->nodeid));
        EXPECT_EQ(table.Find(file->nodeid)->ino, file->ino);
        table.Forget(folder->nodeid, 1);
        EXPECT_TRUE(table.Find(file->nodeid)) << "it is counted";
        table.Forget(file->nodeid, 1);
      }
    };
    test::RunTogether({[&] { use(1); }, [&] { use(1); }, [&] { use(2); }});
    EXPECT_EQ(table.size(), 1u);
  });
}

}  // namespace
}  // namespace ndlfs::fs
