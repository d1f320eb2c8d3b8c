// SPDX-License-Identifier: MIT
#include "fs/fuse/open_handles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/result.h"

namespace ndlfs::fs {
namespace {

using ndlfs::test::IsErrno;
using ndlfs::test::IsOk;
using ::testing::ElementsAre;

// Entries "0", "1" and so on. As long as `broken` is set, the entry of that
// number cannot be read.
class CountingReader final : public DirectoryReader {
 public:
  explicit CountingReader(int count, const std::optional<int>* broken)
      : count_(count), broken_(broken) {}

  model::Result<std::optional<DirectoryEntry>> Next() override {
    if (broken_ != nullptr && next_ == *broken_) return model::IoError(EIO, "readdir");
    if (next_ == count_) return std::nullopt;
    return DirectoryEntry{std::to_string(next_++), S_IFREG};
  }
  void Rewind() override { next_ = 0; }

 private:
  const int count_;
  const std::optional<int>* const broken_;
  int next_ = 0;
};

DirectoryHandle MakeHandle(int count, const std::optional<int>* broken = nullptr) {
  return {InodeTable::Inode(), std::make_unique<CountingReader>(count, broken)};
}

struct Taken {
  std::vector<std::string> names;
  uint64_t next;
};

// At most `limit` entries from `offset` on.
model::Result<Taken> Take(DirectoryHandle& handle, uint64_t offset, size_t limit) {
  Taken taken{{}, offset};
  NDLFS_RETURN_IF_ERROR(handle.Visit(offset, [&](const DirectoryEntry& entry, uint64_t next) {
    if (taken.names.size() == limit) return false;
    taken.names.push_back(entry.name);
    taken.next = next;
    return true;
  }));
  return taken;
}

TEST(DirectoryHandleTest, BeginsWithDotAndDotDot) {
  DirectoryHandle handle = MakeHandle(2);
  EXPECT_THAT(Take(handle, 0, 100)->names, ElementsAre(".", "..", "0", "1"));
}

TEST(DirectoryHandleTest, ContinuesBehindWhatWasTaken) {
  for (size_t limit = 1; limit < 8; ++limit) {
    DirectoryHandle handle = MakeHandle(5);
    std::vector<std::string> names;
    for (uint64_t offset = 0;;) {
      const auto taken = Take(handle, offset, limit);
      ASSERT_THAT(taken, IsOk());
      if (taken->names.empty()) break;
      names.insert(names.end(), taken->names.begin(), taken->names.end());
      offset = taken->next;
    }
    EXPECT_THAT(names, ElementsAre(".", "..", "0", "1", "2", "3", "4")) << limit;
  }
}

TEST(DirectoryHandleTest, GoesBackToAnyOffsetItGave) {
  DirectoryHandle handle = MakeHandle(5);
  const uint64_t third = Take(handle, 0, 3)->next;
  Take(handle, third, 100);
  EXPECT_THAT(Take(handle, third, 2)->names, ElementsAre("1", "2"));
  EXPECT_THAT(Take(handle, 0, 1)->names, ElementsAre("."));
  EXPECT_THAT(Take(handle, 1, 1)->names, ElementsAre(".."));
}

TEST(DirectoryHandleTest, OffsetBehindTheEndIsTheEnd) {
  DirectoryHandle handle = MakeHandle(2);
  EXPECT_THAT(Take(handle, 1000, 100)->names, ElementsAre());
  EXPECT_THAT(Take(handle, 2, 100)->names, ElementsAre("0", "1"));
}

TEST(DirectoryHandleTest, ErrorComesAfterWhatWasReadBefore) {
  std::optional<int> broken = 2;
  DirectoryHandle handle = MakeHandle(4, &broken);
  const auto first = Take(handle, 0, 100);
  EXPECT_THAT(first->names, ElementsAre(".", "..", "0", "1"));
  EXPECT_THAT(Take(handle, first->next, 100), IsErrno(EIO));
  broken.reset();
  EXPECT_THAT(Take(handle, first->next, 100)->names, ElementsAre("2", "3"));
}

TEST(HandleSetTest, OwnsWhatIsInItUntilItIsRemoved) {
  struct Object : std::enable_shared_from_this<Object> {};
  const auto object = std::make_shared<Object>();
  HandleSet<Object> set;
  const uint64_t handle = set.Add(object);
  EXPECT_EQ(HandleSet<Object>::Get(handle), object);
  EXPECT_EQ(object.use_count(), 2);
  set.Remove(handle);
  EXPECT_EQ(object.use_count(), 1);
  set.Remove(handle);
  EXPECT_EQ(set.size(), 0u);
}

TEST(HandleSetTest, ObjectInUseOutlivesItsHandle) {
  struct Object : std::enable_shared_from_this<Object> {};
  HandleSet<Object> set;
  const uint64_t handle = set.Add(std::make_shared<Object>());
  const auto in_use = HandleSet<Object>::Get(handle);
  set.Remove(handle);
  EXPECT_EQ(in_use.use_count(), 1);
}

}  // namespace
}  // namespace ndlfs::fs
