// SPDX-License-Identifier: MIT
#include "backends/store/block_cache/block_cache.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/python.h"
#include "tests/support/result.h"

namespace ndlfs::backends {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class BlockCacheTest : public ::testing::Test {
 protected:
  std::shared_ptr<BlockCache> Open(uint64_t capacity = 1 << 20) {
    auto cache = BlockCache::Open({directory(), capacity, [this](std::string_view line) {
                                     warnings_.emplace_back(line);
                                   }});
    EXPECT_THAT(cache, test::IsOk());
    return cache.value_or(nullptr);
  }
  std::string directory() const { return top_ / "cache"; }

  static std::string Get(BlockCache& cache, std::string_view key) {
    const auto block = cache.Get(key, size_t{1} << 20);
    return block ? std::string(AsText(block->span())) : "absent";
  }
  std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(directory())) {
      if (entry.is_regular_file() && entry.path().filename() != "lock") {
        files.push_back(entry.path());
      }
    }
    return files;
  }
  uint64_t BytesOfFiles() const {
    uint64_t bytes = 0;
    for (const auto& file : Files()) bytes += fs::file_size(file);
    return bytes;
  }

  const test::TemporaryDirectory top_;
  std::vector<std::string> warnings_;
};

TEST_F(BlockCacheTest, KeepsBlocksByKey) {
  const auto cache = Open();
  EXPECT_EQ(Get(*cache, "a"), "absent");
  cache->Put("a", AsBytes("one"));
  cache->Put("b", AsBytes(""));
  EXPECT_EQ(Get(*cache, "a"), "one");
  EXPECT_EQ(Get(*cache, "b"), "");
  cache->Put("a", AsBytes("two"));
  EXPECT_EQ(Get(*cache, "a"), "two");
  std::string text = "xxx";
  EXPECT_TRUE(cache->Get("a", std::as_writable_bytes(std::span(text))));
  EXPECT_EQ(text, "two");
  text = "four";
  EXPECT_FALSE(cache->Get("a", std::as_writable_bytes(std::span(text)))) << "of another size";
  EXPECT_EQ(cache->stats().hits, 4u);
  EXPECT_EQ(cache->stats().misses, 2u);
  EXPECT_EQ(cache->stats().stored, 3u);
}

TEST_F(BlockCacheTest, TellsWithoutReadingWhetherThereIsABlock) {
  const auto cache = Open();
  cache->Put("a", AsBytes("one"));
  EXPECT_TRUE(cache->Has("a", 3));
  EXPECT_FALSE(cache->Has("a", 4)) << "of another size";
  EXPECT_FALSE(cache->Has("b", 3));
  EXPECT_EQ(cache->stats().hits, 0u);
  EXPECT_EQ(cache->stats().misses, 2u);
}

TEST_F(BlockCacheTest, BlocksSurviveTheProcessAndAreShared) {
  const auto first = Open();
  const auto second = Open();
  first->Put("a", AsBytes("one"));
  EXPECT_EQ(Get(*second, "a"), "one");
  EXPECT_EQ(Get(*Open(), "a"), "one");
}

TEST_F(BlockCacheTest, ADamagedBlockIsAbsentAndRemoved) {
  const auto cache = Open();
  const std::string block(1000, 'x');
  for (const size_t at : {0u, 9u, 17u, 25u, 33u, 40u, 500u, 1032u}) {
    cache->Put("a", AsBytes(block));
    ASSERT_EQ(Files().size(), 1u);
    std::string bytes = test::ReadFile(Files()[0].string());
    ASSERT_EQ(bytes.size(), 1033u);
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    test::WriteFile(Files()[0].string(), bytes);
    EXPECT_EQ(Get(*cache, "a"), "absent") << at;
    EXPECT_TRUE(Files().empty()) << at;
  }
  EXPECT_EQ(cache->stats().damaged, 8u);
}

TEST_F(BlockCacheTest, AFifoInPlaceOfABlockIsRemovedAndDoesNotWait) {
  const auto cache = Open();
  cache->Put("a", AsBytes("one"));
  const std::string path = Files()[0].string();
  fs::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(cache->Has("a", 3));
  EXPECT_EQ(Get(*cache, "a"), "absent");
  cache->Put("a", AsBytes("two"));
  EXPECT_EQ(Get(*cache, "a"), "two");
}

TEST_F(BlockCacheTest, AFolderThatIsALinkLeadsNowhere) {
  const auto cache = Open();
  cache->Put("a", AsBytes("one"));
  const fs::path folder = Files()[0].parent_path();
  const fs::path elsewhere = top_ / "elsewhere";
  fs::rename(folder, elsewhere);
  fs::create_directory_symlink(elsewhere, folder);
  EXPECT_FALSE(cache->Has("a", 3));
  EXPECT_EQ(Get(*cache, "a"), "absent");
  EXPECT_TRUE(cache->Put("a", AsBytes("two")));
  EXPECT_EQ(Get(*cache, "a"), "two");
  EXPECT_FALSE(fs::is_symlink(folder));
  EXPECT_EQ(std::distance(fs::directory_iterator(elsewhere), fs::directory_iterator()), 1)
      << "nothing was written there";
}

TEST_F(BlockCacheTest, ATruncatedBlockIsAbsent) {
  const auto cache = Open();
  for (const size_t size : {0u, 10u, 33u, 500u, 1032u}) {
    cache->Put("a", AsBytes(std::string(1000, 'x')));
    fs::resize_file(Files().at(0), size);
    EXPECT_EQ(Get(*cache, "a"), "absent") << size;
  }
}

TEST_F(BlockCacheTest, TheBlockOfAnotherKeyIsNotTaken) {
  const auto cache = Open();
  cache->Put("a", AsBytes("of a"));
  const fs::path of_a = Files().at(0);
  const std::string bytes = test::ReadFile(of_a.string());
  fs::remove(of_a);
  cache->Put("b", AsBytes("of b"));
  test::WriteFile(Files().at(0).string(), bytes);
  EXPECT_EQ(Get(*cache, "b"), "absent");
}

TEST_F(BlockCacheTest, TheLeastRecentlyUsedBlocksMakeRoom) {
  const std::string block(10'000, 'x');
  const auto cache = Open(200'000);
  const auto age = [&](int seconds) {
    for (const auto& file : Files()) {
      fs::last_write_time(file,
                          fs::file_time_type::clock::now() - std::chrono::seconds(seconds));
    }
  };
  for (int i = 0; i < 10; ++i) cache->Put("old" + std::to_string(i), AsBytes(block));
  age(1000);
  EXPECT_EQ(Get(*cache, "old3"), block) << "used again";
  for (int i = 0; i < 8; ++i) cache->Put("new" + std::to_string(i), AsBytes(block));
  EXPECT_LE(BytesOfFiles(), 200'000u);
  EXPECT_EQ(Get(*cache, "old3"), block);
  EXPECT_EQ(Get(*cache, "new7"), block);
  EXPECT_EQ(Get(*cache, "old0"), "absent");
}

TEST_F(BlockCacheTest, TheCapacityHoldsForAllProcessesTogether) {
  const std::string block(10'000, 'x');
  std::vector<std::shared_ptr<BlockCache>> caches = {Open(400'000), Open(400'000)};
  for (int i = 0; i < 150; ++i) caches[i % 2]->Put(std::to_string(i), AsBytes(block));
  EXPECT_LE(BytesOfFiles(), 500'000u);
  EXPECT_GE(BytesOfFiles(), 200'000u);
}

TEST_F(BlockCacheTest, SmallBlocksTakeTheRoomOfTheirFiles) {
  constexpr uint64_t kFile = 4096;  // on most disks
  const auto cache = Open(40 * kFile);
  for (int i = 0; i < 200; ++i) cache->Put(std::to_string(i), AsBytes("small"));
  EXPECT_LE(Files().size(), 45u);
  EXPECT_GE(Files().size(), 20u);
}

TEST_F(BlockCacheTest, ABlockThatIsTooLargeIsNotKept) {
  const auto cache = Open(1000);
  cache->Put("a", AsBytes(std::string(600, 'x')));
  EXPECT_TRUE(Files().empty());
}

TEST_F(BlockCacheTest, AnAbandonedTemporaryFileIsRemoved) {
  auto cache = Open();
  cache->Put("a", AsBytes("one"));
  const fs::path folder = Files().at(0).parent_path();
  test::WriteFile((folder / "new.1.1").string(), "half");
  test::WriteFile((folder / "new.1.2").string(), "half");
  fs::last_write_time(folder / "new.1.1",
                      fs::file_time_type::clock::now() - std::chrono::hours(2));
  cache = Open();
  cache->Put("b", AsBytes("two"));
  EXPECT_FALSE(fs::exists(folder / "new.1.1"));
  EXPECT_TRUE(fs::exists(folder / "new.1.2")) << "another process may be writing it";
}

TEST_F(BlockCacheTest, TheDirectoryIsForOneUserAlone) {
  Open();
  EXPECT_EQ(fs::status(directory()).permissions(), fs::perms::owner_all);
  fs::permissions(directory(), fs::perms(0755));
  EXPECT_THAT(BlockCache::Open({directory()}),
              test::IsError(model::ErrorCode::kBadInput, HasSubstr("may be entered by other")));
  test::WriteFile(top_ / "file", "");
  EXPECT_THAT(BlockCache::Open({top_ / "file"}), test::IsErrno(ENOTDIR));
}

TEST_F(BlockCacheTest, DirectoriesAroundItAreNotMade) {
  EXPECT_THAT(BlockCache::Open({top_ / "none/cache"}),
              test::IsError(model::ErrorCode::kBadInput,
                            HasSubstr("there is no directory \"" + (top_ / "none") + "\"")));
  EXPECT_FALSE(fs::exists(top_ / "none"));
}

TEST_F(BlockCacheTest, TheDirectoryOfAnotherUserIsRefused) {
  std::string foreign = "/";  // of root
  if (::geteuid() == 0) {
    Open();
    foreign = directory();
    ASSERT_EQ(::chown(foreign.c_str(), 12345, 12345), 0);
  }
  EXPECT_THAT(BlockCache::Open({foreign}),
              test::IsError(model::ErrorCode::kBadInput, HasSubstr("belongs to another user")));
}

TEST_F(BlockCacheTest, WhatCannotBeWrittenIsSaidOnce) {
  const auto cache = Open();
  cache->Put("kept", AsBytes("one"));
  // Something else is where the folders of blocks would be.
  for (int i = 0; i < 256; ++i) {
    const std::string folder = directory() + "/" + fmt::format("{:02x}", i);
    if (!fs::exists(folder)) test::WriteFile(folder, "");
  }
  for (int i = 0; i < 100; ++i) cache->Put(std::to_string(i), AsBytes("two"));
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_THAT(warnings_[0], HasSubstr("nothing new is kept in it"));
  EXPECT_EQ(Get(*cache, "kept"), "one");
}

class KeptFileTest : public BlockCacheTest {
 protected:
  // Keeps `text` as a file of its own.
  static bool Keep(BlockCache& cache, std::string_view key, const std::string& text) {
    auto file = cache.MakeFile(text.size());
    if (!file || !cache.TakeRoom(*file, text.size())) return false;
    EXPECT_EQ(::write(file->get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
    return cache.KeepFile(key, *file);
  }
  static std::string Read(BlockCache& cache, std::string_view key) {
    const UniqueFd file = cache.FindFile(key);
    if (!file) return "absent";
    std::string text(100, ' ');
    text.resize(static_cast<size_t>(::pread(file.get(), text.data(), text.size(), 0)));
    return text;
  }
};

TEST_F(KeptFileTest, HasItsBytesAndNothingElse) {
  const auto cache = Open();
  EXPECT_EQ(Read(*cache, "a"), "absent");
  EXPECT_TRUE(Keep(*cache, "a", "one"));
  EXPECT_EQ(Read(*cache, "a"), "one");
  EXPECT_TRUE(Keep(*cache, "a", "another"));
  EXPECT_EQ(Read(*Open(), "a"), "another");
  ASSERT_EQ(Files().size(), 1u);
  EXPECT_EQ(fs::file_size(Files()[0]), 7u);
  EXPECT_EQ(fs::status(Files()[0]).permissions(), fs::perms::owner_read);
  cache->RemoveFile("a");
  EXPECT_EQ(Read(*cache, "a"), "absent");
}

TEST_F(KeptFileTest, LeavesNothingIfItIsNotKept) {
  const auto cache = Open();
  {
    const auto file = cache->MakeFile(3);
    ASSERT_TRUE(file);
    EXPECT_EQ(::write(file->get(), "one", 3), 3);
  }
  EXPECT_TRUE(Files().empty());
}

TEST_F(KeptFileTest, FilesThatAreBeingWrittenNeedRoom) {
  const auto cache = Open(64 << 10);
  const auto other = Open(64 << 10);
  const std::string text(20 << 10, 'x');
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Keep(*cache, fmt::format("{}", i), text));
  const auto make = [&](BlockCache& of) {
    auto file = of.MakeFile(text.size());
    if (file && !of.TakeRoom(*file, text.size())) file.reset();
    return file;
  };
  auto one = make(*cache);
  auto two = make(*other);
  ASSERT_TRUE(one && two);
  // Each of the two processes has an eighth for files that are not complete.
  EXPECT_LE(BytesOfFiles(), uint64_t{64} << 10);
  auto three = make(*cache);
  auto four = make(*other);
  ASSERT_TRUE(three && four);
  EXPECT_EQ(Read(*cache, "2"), "absent") << "nothing else is left to remove";
  EXPECT_FALSE(make(*cache)) << "all room is taken";
  EXPECT_FALSE(make(*other));
  EXPECT_TRUE(other->Put("block", AsBytes("small"))) << "refused for a while only";
  one.reset();
  two.reset();
  EXPECT_TRUE(Keep(*other, "3", text));
  EXPECT_EQ(Read(*cache, "3"), std::string(100, 'x'));
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(KeptFileTest, NothingIsRemovedForTheBeginOfAFile) {
  const auto cache = Open(64 << 10);
  const std::string text(20 << 10, 'x');
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Keep(*cache, fmt::format("{}", i), text));
  auto large = cache->MakeFile(32 << 10);
  ASSERT_TRUE(large);
  EXPECT_TRUE(cache->TakeRoom(*large, 1));
  EXPECT_TRUE(cache->TakeRoom(*large, 7 << 10));
  for (const char* key : {"0", "1", "2"}) EXPECT_NE(Read(*cache, key), "absent") << key;
  // Another one shares the room for those that are not complete, and gives it back.
  {
    auto second = cache->MakeFile(20 << 10);
    ASSERT_TRUE(second && cache->TakeRoom(*second, 20 << 10));
    EXPECT_EQ(Read(*cache, "0"), "absent");
    EXPECT_NE(Read(*cache, "2"), "absent");
  }
  EXPECT_TRUE(cache->TakeRoom(*large, 32 << 10));
  EXPECT_TRUE(cache->KeepFile("large", *large));
  large.reset();
  EXPECT_LE(BytesOfFiles(), uint64_t{64} << 10);
  EXPECT_TRUE(cache->FindFile("large"));
}

TEST_F(KeptFileTest, RoomOfAProcessThatWasKilledIsFree) {
  const auto cache = Open(64 << 10);
  ASSERT_TRUE(Keep(*cache, "a", "one"));
  const pid_t child = ::fork();
  if (child == 0) {
    const auto of_child = Open(64 << 10);
    auto file = of_child->MakeFile(30 << 10);
    const bool has_room = file && of_child->TakeRoom(*file, 30 << 10);
    std::_Exit(has_room ? 0 : 1);  // without its destructor
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(Files().size(), 2u);
  const auto next = Open(64 << 10);
  auto file = next->MakeFile(30 << 10);
  EXPECT_TRUE(file && next->TakeRoom(*file, 30 << 10));
  file.reset();
  EXPECT_EQ(Files().size(), 1u);
}

TEST_F(KeptFileTest, NothingButAFileIsFound) {
  const auto cache = Open();
  ASSERT_TRUE(Keep(*cache, "a", "one"));
  const fs::path place = Files()[0];
  fs::remove(place);
  ASSERT_EQ(::mkfifo(place.c_str(), 0600), 0);
  EXPECT_EQ(Read(*cache, "a"), "absent");
  EXPECT_FALSE(fs::exists(place));
  test::WriteFile(top_ / "secret", "secret");
  fs::create_symlink(top_ / "secret", place);
  EXPECT_EQ(Read(*cache, "a"), "absent");
}

TEST_F(KeptFileTest, OldestMakeRoomForFilesAndBlocks) {
  const auto cache = Open(64 << 10);
  const std::string text(12 << 10, 'x');
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(Keep(*cache, fmt::format("{}", i), text));
    ASSERT_TRUE(cache->Put(fmt::format("block {}", i), AsBytes("seal")));
  }
  EXPECT_LE(BytesOfFiles(), uint64_t{64} << 10);
  EXPECT_EQ(Read(*cache, "0"), "absent");
  EXPECT_EQ(Read(*cache, "9"), std::string(100, 'x'));
  EXPECT_FALSE(cache->MakeFile(33 << 10)) << "more than half";
}

TEST_F(BlockCacheTest, ManyThreadsReadAndWrite) {
  const auto cache = Open(300'000);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i) {
        const std::string key = std::to_string((i * 7 + t) % 50);
        const std::string block(5'000, key[0]);
        const std::string found = Get(*cache, key);
        if (found == "absent") cache->Put(key, AsBytes(block));
        if (found != "absent" && found != block) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(cache->stats().damaged, 0u);
}

}  // namespace
}  // namespace ndlfs::backends
