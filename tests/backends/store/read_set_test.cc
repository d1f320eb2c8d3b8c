// SPDX-License-Identifier: MIT
#include "backends/store/read_set.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "tests/support/memory_store.h"

namespace ndlfs::backends {
namespace {

class ReadSetTest : public testing::Test {
 protected:
  using StorePtr = std::shared_ptr<test::MemoryStore>;

  static void AddNow(const StorePtr& store, const std::string& key, ReadSet& set) {
    set.Add(store, key, VersionOf(*store->Stat(key)));
  }
  static bool HasChanged(const ReadSet& set) { return FindChange(set.reads())->has_value(); }

  StorePtr store_ = std::make_shared<test::MemoryStore>();
  StorePtr other_ = std::make_shared<test::MemoryStore>();
  ReadSet set_;
};

TEST_F(ReadSetTest, AnEmptySetNeverChanges) {
  EXPECT_FALSE(HasChanged(set_));
  EXPECT_EQ(*FingerprintNow(set_), set_.Fingerprint());
}

TEST_F(ReadSetTest, ValuesThatAreRewrittenComeOrGoAreChanges) {
  for (const std::string key : {"old", "new", "gone"}) {
    store_->Put("old", "1");
    store_->Put("gone", "1");
    store_->Remove("new");
    ReadSet set;
    AddNow(store_, "old", set);
    AddNow(store_, "new", set);
    AddNow(store_, "gone", set);
    EXPECT_FALSE(HasChanged(set));
    EXPECT_EQ(*FingerprintNow(set), set.Fingerprint());
    if (key == "gone") {
      store_->Remove(key);
    } else {
      store_->Put(key, "2");
    }
    EXPECT_TRUE(HasChanged(set)) << key;
    EXPECT_NE(*FingerprintNow(set), set.Fingerprint()) << key;
  }
}

TEST_F(ReadSetTest, TellsTheTimeOfTheValueThatHasChanged) {
  store_->Put("a", "1");
  AddNow(store_, "a", set_);
  store_->Put("a", "2");
  EXPECT_EQ((*FindChange(set_.reads()))->modified_ns, (*store_->Stat("a"))->modified_ns);
  store_->Remove("a");
  EXPECT_EQ((*FindChange(set_.reads()))->modified_ns, 0);
}

TEST_F(ReadSetTest, TheFirstAnswerStays) {
  store_->Put("a", "1");
  AddNow(store_, "a", set_);
  const auto first = VersionOf(*store_->Stat("a"));
  store_->Put("a", "2");
  AddNow(store_, "a", set_);
  ASSERT_NE(set_.Find(store_, "a"), nullptr);
  EXPECT_EQ(*set_.Find(store_, "a"), first);
  EXPECT_EQ(set_.Find(other_, "a"), nullptr);
  EXPECT_EQ(set_.Find(store_, "b"), nullptr);
}

TEST_F(ReadSetTest, WhatNobodyHasAskedForYetCountsAsChanged) {
  set_.Add(store_, "a", ReadSet::Unknown());
  EXPECT_TRUE(HasChanged(set_));
  EXPECT_EQ(*FingerprintNow(set_), *FingerprintNow(set_));
}

TEST_F(ReadSetTest, SetsOfTheSameReadsHaveOneFingerprint) {
  store_->Put("a", "1");
  other_->Put("b", "1");
  AddNow(store_, "a", set_);
  AddNow(store_, "c", set_);
  AddNow(other_, "b", set_);
  ReadSet merged;
  AddNow(store_, "c", merged);
  ReadSet rest;
  AddNow(other_, "b", rest);
  AddNow(store_, "a", rest);
  EXPECT_NE(merged.Fingerprint(), set_.Fingerprint());
  merged.Merge(rest);
  EXPECT_EQ(merged.Fingerprint(), set_.Fingerprint());
  // The keys of two values count, too.
  ReadSet swapped;
  swapped.Add(store_, "c", VersionOf(*store_->Stat("a")));
  swapped.Add(store_, "a", VersionOf(*store_->Stat("c")));
  swapped.Add(other_, "b", VersionOf(*other_->Stat("b")));
  EXPECT_NE(swapped.Fingerprint(), set_.Fingerprint());
}

TEST_F(ReadSetTest, WhatAStoreCannotTellIsAnErrorThatNamesTheValue) {
  AddNow(store_, "a", set_);
  store_->Fail("a", EIO);
  const auto change = FindChange(set_.reads());
  ASSERT_FALSE(change);
  EXPECT_TRUE(change.error().message().starts_with("memory/a")) << change.error().message();
  EXPECT_FALSE(FingerprintNow(set_));
}

TEST_F(ReadSetTest, OfManyValuesASampleIsAskedForFirst) {
  constexpr int kMany = 10'000;
  for (int i = 0; i < kMany; ++i) store_->Put(fmt::format("{}", i), "1");
  for (int i = 0; i < kMany; ++i) AddNow(store_, fmt::format("{}", i), set_);
  EXPECT_FALSE(HasChanged(set_));
  for (int i = 0; i < kMany; i += 2) store_->Put(fmt::format("{}", i), "2");
  const size_t before = store_->stats();
  EXPECT_TRUE(HasChanged(set_));
  EXPECT_LT(store_->stats() - before, 50u);
  // One of them is found nevertheless.
  ReadSet again;
  for (int i = 0; i < kMany; ++i) AddNow(store_, fmt::format("{}", i), again);
  store_->Put("7777", "3");
  EXPECT_TRUE(HasChanged(again));
}

TEST_F(ReadSetTest, TheEndsAreTheFirstAndTheLast) {
  for (const char* key : {"a", "b", "c", "d", "e"}) AddNow(store_, key, set_);
  const auto ends = set_.Ends(4);
  ASSERT_EQ(ends.size(), 4u);
  EXPECT_EQ(ends[0].key + ends[1].key + ends[2].key + ends[3].key, "abde");
  EXPECT_TRUE(set_.Ends(0).empty());
}

TEST_F(ReadSetTest, AllSetsTogetherNoteALimitedNumber) {
  {
    ReadSet large;
    while (large.has_room() && large.size() < 1'000'000) {
      large.Add(store_, fmt::format("{}", large.size()), std::nullopt);
    }
    EXPECT_LT(large.size(), 200'000u);
    const ReadSet moved = std::move(large);
    EXPECT_FALSE(moved.has_room());
    for (int i = 0; i < 50; ++i) {
      EXPECT_TRUE(set_.has_room()) << "another one notes a few anyhow";
      AddNow(store_, fmt::format("{}", i), set_);
    }
  }
  for (int i = 0; i < 100; ++i) AddNow(store_, fmt::format("{}", i), set_);
  EXPECT_TRUE(set_.has_room()) << "the large one has gone";
}

}  // namespace
}  // namespace ndlfs::backends
