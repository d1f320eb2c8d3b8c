// SPDX-License-Identifier: MIT
#include "backends/store/block_cache/cached_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/store/block_cache/block_cache.h"
#include "backends/store/kept_values.h"
#include "tests/support/memory_source.h"
#include "tests/support/python.h"
#include "tests/support/result.h"

namespace ndlfs::backends {
namespace {

using test::MemorySource;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr size_t kBlock = 512 << 10;

std::shared_ptr<const Source> Cached(const std::shared_ptr<MemorySource>& source,
                                     const std::string& directory,
                                     std::optional<std::chrono::nanoseconds> trust_for,
                                     const std::string& identity = "memory://1") {
  return MakeCachedSource(source, BlockCache::Open({directory}).value(),
                          {.identity = identity, .trust_for = trust_for});
}

// Text whose parts are all different.
std::string LongText(size_t size, uint32_t seed = 1) {
  std::string text(size, 0);
  for (char& c : text) {
    seed = seed * 1664525 + 1013904223;
    c = static_cast<char>(seed >> 24);
  }
  return text;
}

class CachedSourceTest : public ::testing::Test {
 protected:
  std::shared_ptr<const Source> Open(
      std::optional<std::chrono::nanoseconds> trust_for = std::chrono::seconds(0),
      const std::string& identity = "memory://1") {
    return Cached(files_, directory_ / "cache", trust_for, identity);
  }
  static std::string Read(const Store& store, const std::string& key, ReadOptions options) {
    const auto value = store.Get(key, 1 << 30, options);
    if (!value) return "error: " + value.error().message();
    return *value ? std::string(AsText((*value)->bytes.span())) : "absent";
  }
  // How many reads of values the source has had since the last call.
  size_t Reads() {
    const size_t count = files_->reads().size();
    files_->ForgetReads();
    return count;
  }

  const test::TemporaryDirectory directory_;
  const std::shared_ptr<MemorySource> files_ = MemorySource::Make();
};

TEST_F(CachedSourceTest, ASecondMountReadsNothing) {
  const std::string text = LongText(3 * kBlock + 100);
  files_->Put("s/a", text);
  EXPECT_EQ(Read(*Open()->OpenStore("s"), "a", {}), text);
  EXPECT_EQ(Reads(), 1u);
  const auto store = Open()->OpenStore("s");
  EXPECT_EQ(Read(*store, "a", {}), text);
  EXPECT_EQ(Read(*store, "a", {.range = {5, 7}}), text.substr(5, 7));
  EXPECT_EQ(Read(*store, "a", {.range = {kBlock - 1, kBlock + 2}}),
            text.substr(kBlock - 1, kBlock + 2));
  EXPECT_EQ(Read(*store, "a", {.range = {9, 9}, .from_end = true}),
            text.substr(text.size() - 9));
  EXPECT_EQ(Read(*Open()->OpenFile("s/a"), "", {.range = {3 * kBlock, 1000}}),
            text.substr(3 * kBlock));
  EXPECT_EQ(Reads(), 0u);
}

TEST_F(CachedSourceTest, ASecondMountWritesNothingThatIsThere) {
  files_->Put("s/a", LongText(100));
  Read(*Open()->OpenStore("s"), "a", {});
  const auto cache = BlockCache::Open({directory_ / "cache"}).value();
  const auto source = MakeCachedSource(
      files_, cache, {.identity = "memory://1", .trust_for = std::chrono::seconds(0)});
  EXPECT_EQ(Read(*source->OpenStore("s"), "a", {}), LongText(100));
  EXPECT_TRUE(source->OpenStore("s")->Stat("a").has_value());
  EXPECT_EQ(cache->stats().stored, 0u);
  files_->Put("s/a", LongText(100, 2));
  EXPECT_TRUE(source->OpenStore("s")->Stat("a").has_value());
  EXPECT_EQ(cache->stats().stored, 1u);  // the version
}

TEST_F(CachedSourceTest, TellsWhatIsKeptWithoutARequest) {
  files_->Put("s/a", LongText(2 * kBlock));
  files_->Put("s/b", LongText(kBlock));
  Read(*Open()->OpenStore("s"), "a", {.range = {kBlock, 10}});
  Reads();
  const auto store = Open()->OpenStore("s");
  const auto is_kept = [&](const std::string& key, uint64_t offset, uint64_t length) {
    return IsKept(*store, key, {offset, length});
  };
  EXPECT_TRUE(is_kept("a", kBlock, 1));
  EXPECT_TRUE(is_kept("a", kBlock, kBlock));
  EXPECT_TRUE(is_kept("a", kBlock, ByteRange::kToEnd));
  EXPECT_FALSE(is_kept("a", 0, 1));
  EXPECT_FALSE(is_kept("a", kBlock - 1, 2)) << "one end is not";
  EXPECT_FALSE(is_kept("a", 2 * kBlock, 1)) << "there is no such byte";
  EXPECT_FALSE(is_kept("b", 0, 1));
  EXPECT_FALSE(is_kept("../s/a", kBlock, 1));
  EXPECT_FALSE(IsKept(*files_->OpenStore("s"), "a", {kBlock, 1})) << "it keeps nothing";
  EXPECT_EQ(Reads(), 0u);
}

TEST_F(CachedSourceTest, SaysBeforeItNeedsMemoryThatBytesAreAtHand) {
  const std::string text = LongText(2 * kBlock);
  files_->Put("a", text);
  const auto store = Open()->OpenStore("");
  std::string calls;
  const std::function<void()> at_hand = [&] { calls += "at hand, "; };
  const auto read = [&](ByteRange range) {
    calls.clear();
    std::string out(range.length, '?');
    const auto result = store->Read("a", {.range = range, .at_hand = &at_hand}, [&](uint64_t) {
      calls += "memory";
      return std::as_writable_bytes(std::span(out));
    });
    EXPECT_THAT(result, test::IsOk());
    EXPECT_EQ(out, text.substr(range.offset, range.length));
    return calls;
  };
  EXPECT_EQ(read({0, 100}), "memory") << "the first block is not there";
  EXPECT_EQ(read({0, 2 * kBlock}), "memory") << "the last one is not";
  EXPECT_EQ(read({0, 2 * kBlock}), "at hand, memory");
}

TEST_F(CachedSourceTest, TellsWhenTheSourceWasAskedForTheVersion) {
  files_->Put("a", LongText(kBlock));
  const auto store = Open(std::chrono::hours(1))->OpenStore("");
  const auto begin = std::chrono::steady_clock::now();
  const auto fetched = store->Get("a", 1 << 30, {});
  ASSERT_THAT(fetched, test::IsOk());
  EXPECT_FALSE((*fetched)->info.told_at) << "the source was asked for this answer";
  const auto end = std::chrono::steady_clock::now();
  const auto kept = store->Get("a", 1 << 30, {});
  ASSERT_THAT(kept, test::IsOk());
  ASSERT_TRUE((*kept)->info.told_at);
  EXPECT_GE(*(*kept)->info.told_at, begin);
  EXPECT_LE(*(*kept)->info.told_at, end);
  EXPECT_EQ((*kept)->info, (*fetched)->info);
}

TEST_F(CachedSourceTest, VersionsThatAreTrustedForEverHaveNoTime) {
  files_->Put("a", LongText(kBlock));
  const auto store = Open(std::nullopt)->OpenStore("");
  ASSERT_THAT(store->Get("a", 1 << 30, {}), test::IsOk());
  const auto kept = store->Get("a", 1 << 30, {});
  ASSERT_THAT(kept, test::IsOk());
  EXPECT_FALSE((*kept)->info.told_at);
}

TEST_F(CachedSourceTest, EveryRangeIsRight) {
  const std::string text = LongText(2 * kBlock + 1000);
  files_->Put("a", text);
  const std::vector<uint64_t> offsets = {0,         1, kBlock, 2 * kBlock - 1, 2 * kBlock + 999,
                                         3 * kBlock};
  const std::vector<uint64_t> lengths = {1, kBlock + 1, ByteRange::kToEnd};
  for (const bool is_warm : {false, true}) {
    for (const uint64_t offset : offsets) {
      for (const uint64_t length : lengths) {
        for (const bool from_end : {false, true}) {
          if (!is_warm) std::filesystem::remove_all(directory_.path() / "cache");
          const auto store = Open()->OpenStore("");
          const ReadOptions options = {.range = {offset, length}, .from_end = from_end};
          const ByteRange range = options.Clip(text.size());
          const std::vector<ReadRequest> requests = {{"a", options}};
          const auto many = store->ReadMany(requests);
          ASSERT_THAT(many[0], test::IsOk());
          ASSERT_EQ(AsText((*many[0])->bytes.span()), text.substr(range.offset, range.length));
          ASSERT_EQ(Read(*store, "a", options), text.substr(range.offset, range.length));
        }
      }
    }
  }
}

TEST_F(CachedSourceTest, MemoryForLessThanTheRangeIsFilled) {
  const std::string text = LongText(3 * kBlock);
  files_->Put("a", text);
  for (int i = 0; i < 2; ++i) {
    const auto store = Open()->OpenStore("");
    std::string out(kBlock + 10, '?');
    const auto result = store->Read("a", {.range = {7, ByteRange::kToEnd}}, [&](uint64_t) {
      return model::Result<ByteSpan>(std::as_writable_bytes(std::span(out)));
    });
    ASSERT_THAT(result, test::IsOk());
    EXPECT_EQ((*result)->count, out.size());
    EXPECT_EQ(out, text.substr(7, out.size()));
  }
}

TEST_F(CachedSourceTest, ABlockOfAnotherVersionIsNeverUsed) {
  files_->Put("a", LongText(2 * kBlock, 1));
  EXPECT_EQ(Read(*Open()->OpenStore(""), "a", {}), LongText(2 * kBlock, 1));
  files_->Put("a", LongText(2 * kBlock, 2));
  EXPECT_EQ(Read(*Open()->OpenStore(""), "a", {.range = {0, 10}}),
            LongText(2 * kBlock, 2).substr(0, 10));
  EXPECT_EQ(Read(*Open()->OpenStore(""), "a", {}), LongText(2 * kBlock, 2));
  files_->Remove("a");
  EXPECT_EQ(Read(*Open()->OpenStore(""), "a", {}), "absent");
}

TEST_F(CachedSourceTest, AReadThatNamesItsVersionGetsItOrAnError) {
  files_->Put("a", LongText(2 * kBlock, 1));
  const auto store = Open()->OpenStore("");
  const Generation first = store->Stat("a").value()->generation;
  EXPECT_EQ(Read(*store, "a", {.range = {0, 10}, .if_match = first}), LongText(10, 1));
  files_->Put("a", LongText(2 * kBlock, 2));
  EXPECT_EQ(Read(*store, "a", {.range = {0, 10}, .if_match = first}), LongText(10, 1));
  EXPECT_THAT(store->Get("a", 1 << 30, {.range = {kBlock, 10}, .if_match = first}),
              test::IsStale());
  EXPECT_THAT(store->Get("a", 1 << 30, {.range = {0, kBlock + 10}, .if_match = first}),
              test::IsStale());
}

TEST_F(CachedSourceTest, AnOpenedFileNeverMixesKeptBlocksOfTwoVersions) {
  files_->Put("a", LongText(3 * kBlock, 1));
  const auto first = Open()->OpenFile("a");
  EXPECT_EQ(Read(*first, "", {.range = {0, 10}}), LongText(10, 1));
  files_->Put("a", LongText(3 * kBlock, 2));
  EXPECT_EQ(Read(*Open()->OpenFile("a"), "", {}), LongText(3 * kBlock, 2));
  EXPECT_THAT(first->Get("", 1 << 30, {.range = {kBlock, 10}}), test::IsStale());
  const std::vector<ReadRequest> requests = {{"", {.range = {0, 4}}},
                                             {"", {.range = {kBlock, 4}}}};
  for (const auto& answer : first->ReadMany(requests)) {
    if (answer) {
      EXPECT_EQ(AsText((*answer)->bytes.span()), LongText(4, 1));
    } else {
      EXPECT_THAT(answer, test::IsStale());
    }
  }
}

TEST_F(CachedSourceTest, WhatIsMissingIsFetchedAndTheRestIsNot) {
  const std::string text = LongText(4 * kBlock);
  files_->Put("a", text);
  EXPECT_EQ(Read(*Open()->OpenStore(""), "a", {.range = {0, 2 * kBlock}}),
            text.substr(0, 2 * kBlock));
  Reads();
  EXPECT_EQ(Read(*Open()->OpenStore(""), "a", {}), text);
  const auto reads = files_->reads();
  ASSERT_EQ(reads.size(), 1u);
  EXPECT_EQ(reads[0].offset, 2 * kBlock);
}

TEST_F(CachedSourceTest, ADamagedFirstBlockIsFetched) {
  const std::string text = LongText(2 * kBlock + 100);
  files_->Put("a", text);
  EXPECT_EQ(Read(*Open()->OpenStore(""), "a", {}), text);
  for (const auto& file : std::filesystem::recursive_directory_iterator(directory_ / "cache")) {
    if (!file.is_regular_file() || file.file_size() < kBlock) continue;
    std::string bytes = test::ReadFile(file.path().string());
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    test::WriteFile(file.path().string(), bytes);
  }
  Reads();
  EXPECT_EQ(Read(*Open()->OpenStore(""), "a", {}), text);
  EXPECT_EQ(Reads(), 1u);
  EXPECT_EQ(Read(*Open()->OpenStore(""), "a", {.range = {100, 2 * kBlock}}),
            text.substr(100, 2 * kBlock))
      << "it is kept again";
  EXPECT_EQ(Reads(), 0u);
}

TEST_F(CachedSourceTest, AnImmutableSourceIsNotAskedAtAll) {
  files_->Put("a", "text");
  EXPECT_EQ(Read(*Open(std::nullopt)->OpenStore(""), "a", {}), "text");
  files_->Put("a", "this is not looked at");
  files_->ForgetReads();
  EXPECT_EQ(Read(*Open(std::nullopt)->OpenStore(""), "a", {}), "text");
  EXPECT_EQ(Reads(), 0u);
  EXPECT_TRUE(files_->looks().empty());
}

TEST_F(CachedSourceTest, FilesOfOtherSourcesAreOthers) {
  files_->Put("a", "text");
  EXPECT_EQ(Read(*Open(std::nullopt)->OpenStore(""), "a", {}), "text");
  files_->Put("a", "other");
  EXPECT_EQ(Read(*Open(std::nullopt, "memory://2")->OpenStore(""), "a", {}), "other");
}

TEST_F(CachedSourceTest, YoungFilesAreNotKept) {
  files_->Put("a", "text");
  const int64_t written_s = files_->Stat("a", Follow::kNo).value()->mtime_ns / 1'000'000'000;
  const auto source = MakeCachedSource(
      files_, BlockCache::Open({directory_ / "cache"}).value(),
      {.identity = "1", .trust_for = std::nullopt, .now_s = [&] { return written_s + 1; }});
  EXPECT_EQ(Read(*source->OpenStore(""), "a", {}), "text");
  EXPECT_EQ(Read(*source->OpenStore(""), "a", {}), "text");
  EXPECT_EQ(Reads(), 2u);
}

// Otherwise a mount that trusts versions for ever would take the version before for it.
TEST_F(CachedSourceTest, AVersionThatWasYoungIsKeptWhenItIsNotAnyMore) {
  files_->Put("a", "text");
  int64_t now_s = files_->Stat("a", Follow::kNo).value()->mtime_ns / 1'000'000'000 + 1;
  const auto open = [&](std::optional<std::chrono::nanoseconds> trust_for) {
    return MakeCachedSource(
        files_, BlockCache::Open({directory_ / "cache"}).value(),
        {.identity = "1", .trust_for = trust_for, .now_s = [&] { return now_s; }});
  };
  const auto store = open(std::chrono::seconds(0))->OpenStore("");
  EXPECT_EQ(Read(*store, "a", {}), "text");
  now_s += 60;
  EXPECT_EQ(Read(*store, "a", {}), "text");
  Reads();
  EXPECT_EQ(Read(*open(std::nullopt)->OpenStore(""), "a", {}), "text");
  EXPECT_EQ(Reads(), 0u);
}

TEST_F(CachedSourceTest, ManyReadsAskForVersionsTogetherAndReadWhatIsMissing) {
  files_->Put("a", LongText(2 * kBlock, 1));
  files_->Put("b", LongText(2 * kBlock, 2));
  EXPECT_EQ(Read(*Open()->OpenStore(""), "a", {}), LongText(2 * kBlock, 1));
  Reads();
  const std::vector<ReadRequest> requests = {{"a", {.range = {1, 2}}},
                                             {"a", {.range = {kBlock, 2}}},
                                             {"b", {.range = {3, 4}}},
                                             {"c", {.range = {0, 1}}}};
  const auto answers = Open()->OpenStore("")->ReadMany(requests);
  EXPECT_EQ(AsText((*answers[0])->bytes.span()), LongText(10, 1).substr(1, 2));
  EXPECT_EQ(AsText((*answers[1])->bytes.span()), LongText(2 * kBlock, 1).substr(kBlock, 2));
  EXPECT_EQ(AsText((*answers[2])->bytes.span()), LongText(10, 2).substr(3, 4));
  EXPECT_EQ(answers[3].value(), std::nullopt);
  EXPECT_EQ(Reads(), 1u);
}

TEST_F(CachedSourceTest, LimitsHold) {
  files_->Put("a", "0123456789");
  for (int i = 0; i < 2; ++i) {
    const auto store = Open()->OpenStore("");
    EXPECT_THAT(store->Get("a", 4),
                test::IsError(model::ErrorCode::kLimit, HasSubstr("limit of 4")));
    const std::vector<ReadRequest> requests = {{"a", {}, 4}, {"a", {.range = {0, 3}}, 4}};
    const auto answers = store->ReadMany(requests);
    EXPECT_THAT(answers[0], test::IsError(model::ErrorCode::kLimit, HasSubstr("limit of 4")));
    EXPECT_EQ(AsText((*answers[1])->bytes.span()), "012");
    EXPECT_EQ(Read(*store, "a", {}), "0123456789");
  }
}

TEST_F(CachedSourceTest, KeysThatClimbOutAreRefused) {
  files_->Put("s/a", "text");
  EXPECT_FALSE(Open()->OpenStore("s")->Read("../s/a", 100));
}

}  // namespace
}  // namespace ndlfs::backends
