// SPDX-License-Identifier: MIT
#include "cache/chunk_ledger.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "backends/store/source_clock.h"
#include "tests/support/memory_store.h"

namespace ndlfs::cache {
namespace {

class ChunkLedgerTest : public testing::Test {
 protected:
  // Writes `key`, and returns what a read of it finds.
  std::optional<backends::ValueInfo> WriteNow(const std::string& key) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    store_->Put(key, "new");
    auto found = *store_->Stat(key);
    found->modified_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
    return found;
  }

  std::shared_ptr<test::MemoryStore> store_ = std::make_shared<test::MemoryStore>();
  ChunkLedger ledger_;
};

TEST_F(ChunkLedgerTest, IsUnchangedAsLongAsTheFilesAre) {
  store_->Put("0.0", "abc");
  EXPECT_TRUE(ledger_.Note(store_, "0.0"));
  EXPECT_TRUE(ledger_.Note(store_, "0.1"));  // absent
  EXPECT_TRUE(ledger_.Note(store_, "0.0"));
  store_->Put("0.2", "not read");
  EXPECT_FALSE(ledger_.Changed());
  EXPECT_EQ(ledger_.changed_mtime_ns(), 0);
}

TEST_F(ChunkLedgerTest, NoticesARewrittenFile) {
  store_->Put("0.0", "abc");
  ASSERT_TRUE(ledger_.Note(store_, "0.0"));
  store_->Put("0.0", "abc");
  EXPECT_TRUE(ledger_.Changed());
  EXPECT_GT(ledger_.changed_mtime_ns(), 0);
}

TEST_F(ChunkLedgerTest, NoticesFilesThatAppearAndGo) {
  ASSERT_TRUE(ledger_.Note(store_, "0.1"));
  store_->Put("0.1", "new");
  EXPECT_TRUE(ledger_.Changed());

  ChunkLedger other;
  ASSERT_TRUE(other.Note(store_, "0.1"));
  store_->Remove("0.1");
  EXPECT_TRUE(other.Changed());
}

TEST_F(ChunkLedgerTest, AFileWrittenLateIsAChangeWhereAnotherHasChangedToo) {
  store_->Put("0.0", "old");
  ASSERT_TRUE(ledger_.Note(store_, "0.0"));
  store_->Put("0.0", "new");
  EXPECT_FALSE(ledger_.NoteRead(store_, "0.1", WriteNow("0.1")))
      << "the old file and the new one do not belong together";
}

TEST_F(ChunkLedgerTest, AFileWrittenLateIsNoneWhereTheOthersAreAsTheyWere) {
  store_->Put("0.0", "old");
  ASSERT_TRUE(ledger_.Note(store_, "0.0"));
  EXPECT_TRUE(ledger_.NoteRead(store_, "0.1", WriteNow("0.1"))) << "an array that grows";
  EXPECT_FALSE(ledger_.has_changed());
}

TEST_F(ChunkLedgerTest, AFileThatCameWithItsOldTimeIsLate) {
  store_->Put("0.0", "old");
  ASSERT_TRUE(ledger_.Note(store_, "0.0"));
  store_->Put("0.0", "new");
  auto copied = WriteNow("0.1");  // as rsync does
  std::swap(copied->modified_ns, copied->placed_ns);
  EXPECT_FALSE(ledger_.NoteRead(store_, "0.1", copied));
}

TEST_F(ChunkLedgerTest, ALateFileShowsOneChangedFileOfMany) {
  for (int i = 0; i < 3000; ++i) {
    store_->Put(std::to_string(i), "old");
    ASSERT_TRUE(ledger_.Note(store_, std::to_string(i)));
  }
  store_->Put("1500", "new");
  EXPECT_FALSE(ledger_.NoteRead(store_, "late", WriteNow("late")));
}

TEST_F(ChunkLedgerTest, AFileThatChangedBetweenItsReadAndALookIsAChange) {
  for (const char* key : {"0", "1", "2"}) store_->Put(key, "old");
  ASSERT_TRUE(ledger_.Note(store_, "0"));
  // One thread reads two files, and meanwhile another looks for what it reads.
  const uint64_t looks = ledger_.Expect(store_, "1").looks;
  const auto first = *store_->Stat("1");
  const auto second = *store_->Stat("2");
  store_->Put("2", "new");
  ASSERT_TRUE(ledger_.NoteRead(store_, "late", WriteNow("late")));
  EXPECT_TRUE(ledger_.NoteRead(store_, "1", first, looks)) << "it is as it was read";
  EXPECT_FALSE(ledger_.NoteRead(store_, "2", second, looks));
  EXPECT_TRUE(ledger_.has_changed());
}

TEST_F(ChunkLedgerTest, AVersionThatTheSourceToldBeforeALookIsLookedAt) {
  for (const char* key : {"0", "1", "2"}) store_->Put(key, "old");
  ASSERT_TRUE(ledger_.Note(store_, "0"));
  const auto told_at = std::chrono::steady_clock::now();
  auto first = *store_->Stat("1");
  auto second = *store_->Stat("2");
  first->told_at = second->told_at = told_at;
  store_->Put("2", "new");
  ASSERT_TRUE(ledger_.NoteRead(store_, "late", WriteNow("late")));
  // A cache answers with what it was told before the look.
  const uint64_t looks = ledger_.Expect(store_, "1").looks;
  EXPECT_TRUE(ledger_.NoteRead(store_, "1", first, looks)) << "it is as it was told";
  EXPECT_FALSE(ledger_.NoteRead(store_, "2", second, looks));
}

TEST_F(ChunkLedgerTest, AVersionThatTheSourceToldSinceTheLedgerBeganTakesNoLook) {
  store_->Put("0", "old");
  auto found = *store_->Stat("0");
  found->told_at = std::chrono::steady_clock::now();
  const size_t before = store_->stats();
  EXPECT_TRUE(ledger_.NoteRead(store_, "0", found));
  EXPECT_EQ(store_->stats(), before);
}

TEST_F(ChunkLedgerTest, ALateFileThatHasChangedSinceItsReadIsAChange) {
  const auto found = WriteNow("0");
  store_->Put("0", "newer");
  EXPECT_FALSE(ledger_.NoteRead(store_, "0", found));
}

TEST_F(ChunkLedgerTest, AFileThatCannotBeLookedAtFailsThatReadAlone) {
  store_->Put("0", "old");
  store_->Put("1", "old");
  ASSERT_TRUE(ledger_.Note(store_, "0"));
  const uint64_t looks = ledger_.Expect(store_, "1").looks;
  const auto found = *store_->Stat("1");
  ASSERT_TRUE(ledger_.NoteRead(store_, "late", WriteNow("late")));
  store_->Fail("1", EIO);
  const auto noted = ledger_.NoteRead(store_, "1", found, looks);
  ASSERT_FALSE(noted);
  EXPECT_EQ(noted.error().sys_errno(), EIO);
  EXPECT_FALSE(ledger_.has_changed());
}

TEST_F(ChunkLedgerTest, AFileOfATimeToComeIsLateByTheOtherTime) {
  store_->Put("0", "old");
  ASSERT_TRUE(ledger_.Note(store_, "0"));
  store_->Put("0", "new");
  auto found = WriteNow("1");
  found->placed_ns = found->modified_ns;
  found->modified_ns += int64_t{3'600'000'000'000};
  EXPECT_FALSE(ledger_.NoteRead(store_, "1", found));
}

// The clock of another machine may differ from this one by any time.
class ChunkLedgerClockTest : public ChunkLedgerTest,
                             public testing::WithParamInterface<int64_t> {
 protected:
  static int64_t Ns(int64_t seconds) { return seconds * 1'000'000'000; }
  // A file that was written so many seconds ago, by the clock of the source.
  std::optional<backends::ValueInfo> Written(const std::string& key, int64_t seconds_ago) {
    auto found = WriteNow(key);
    found->placed_ns = found->modified_ns + Ns(GetParam() - seconds_ago);
    found->modified_ns = 1;  // set back after it was written
    return found;
  }
  std::optional<int64_t> SourceClock() const {
    return backends::MachineClockNs() + Ns(GetParam());
  }
};

TEST_P(ChunkLedgerClockTest, AFileIsLateByTheClockOfItsSource) {
  store_->set_clock([this] { return SourceClock(); });
  ASSERT_TRUE(ledger_.NoteRead(store_, "0", Written("0", 100)));
  const size_t before = store_->stats();
  ASSERT_TRUE(ledger_.NoteRead(store_, "1", Written("1", 50)));
  EXPECT_EQ(store_->stats(), before + 1) << "only by WriteNow(): it was there before";
  store_->Put("0", "new");
  EXPECT_FALSE(ledger_.NoteRead(store_, "2", Written("2", 0)));
}

TEST_P(ChunkLedgerClockTest, WhereNobodyKnowsTheClockANewerFileThanAllBeforeIsLate) {
  store_->set_clock([] { return std::nullopt; });
  ASSERT_TRUE(ledger_.NoteRead(store_, "0", Written("0", 100)));
  ASSERT_TRUE(ledger_.NoteRead(store_, "1", Written("1", 50)));
  const size_t before = store_->stats();
  const uint64_t looks = ledger_.Expect(store_, "2").looks;
  ASSERT_TRUE(ledger_.NoteRead(store_, "2", Written("2", 80), looks));
  // A clock that is far ahead may be times that somebody has set: then all files are looked at.
  const size_t looks_at_files = GetParam() < 3600 ? 0 : 3;
  EXPECT_EQ(store_->stats(), before + 1 + looks_at_files) << "one look by Written()";
  store_->Put("0", "new");
  EXPECT_FALSE(ledger_.NoteRead(store_, "3", Written("3", 0)));
}

INSTANTIATE_TEST_SUITE_P(Skews, ChunkLedgerClockTest,
                         testing::Values(-3600, -60, -1, 0, 1, 60, 3600));

TEST_F(ChunkLedgerTest, AFileThatIsNotThereIsAChangeWhereAnotherHasChangedToo) {
  store_->Put("0.0", "old");
  ASSERT_TRUE(ledger_.Note(store_, "0.0"));
  store_->Put("0.0", "new");
  EXPECT_FALSE(ledger_.NoteRead(store_, "0.1", std::nullopt))
      << "an array is written again, and chunks that are empty now are left out";
}

TEST_F(ChunkLedgerTest, ManyFilesThatAreNotThereTakeFewLooks) {
  store_->Put("0", "old");
  ASSERT_TRUE(ledger_.Note(store_, "0"));
  const size_t before = store_->stats();
  for (int i = 1; i < 1000; ++i) {
    ASSERT_TRUE(ledger_.NoteRead(store_, std::to_string(i), std::nullopt));
  }
  EXPECT_LT(store_->stats() - before, 10'000u);
}

class WatchingLedgerTest : public ChunkLedgerTest {
 protected:
  void SetUp() override {
    ledger_.Watch(
        [this] {
          ++looks_;
          return have_changed_;
        },
        std::chrono::nanoseconds(0));
  }

  bool have_changed_ = false;
  int looks_ = 0;
};

TEST_F(WatchingLedgerTest, TheFirstFileIsLateIfItWasWrittenAfterTheMetadataWereRead) {
  have_changed_ = true;
  EXPECT_FALSE(ledger_.NoteRead(store_, "0.0", WriteNow("0.0")));
  EXPECT_TRUE(ledger_.Changed());
  EXPECT_LE(ledger_.changed_mtime_ns(), 1) << "it is no file of the data";
}

TEST_F(WatchingLedgerTest, AReadFailsWhereNobodyCanTellWhetherTheMetadataHaveChanged) {
  bool fails = true;
  ledger_.Watch(
      [&]() -> model::Result<bool> {
        if (fails) return model::IoError(EIO, "zarr.json");
        return false;
      },
      std::chrono::nanoseconds(0));
  EXPECT_FALSE(ledger_.NoteRead(store_, "0.0", std::nullopt));
  EXPECT_FALSE(ledger_.has_changed());
  fails = false;
  EXPECT_TRUE(ledger_.NoteRead(store_, "0.0", std::nullopt));
}

TEST_F(WatchingLedgerTest, AnArrayThatGrowsUnderTheSameMetadataIsUnchanged) {
  EXPECT_TRUE(ledger_.NoteRead(store_, "0", WriteNow("0")));
  EXPECT_EQ(looks_, 1);
  EXPECT_FALSE(ledger_.has_changed());
}

TEST_F(WatchingLedgerTest, WhatWasThereAtTheLastLookIsNotLate) {
  ledger_.Watch(
      [this] {
        ++looks_;
        std::this_thread::sleep_for(
            std::chrono::milliseconds(5));  // so the next one is not due
        return false;
      },
      std::chrono::seconds(1));
  const auto first = WriteNow("0");
  const auto second = WriteNow("1");
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(ledger_.NoteRead(store_, "0", first));
  EXPECT_EQ(looks_, 1);
  EXPECT_TRUE(ledger_.NoteRead(store_, "1", second));
  EXPECT_EQ(looks_, 1);
}

TEST_F(WatchingLedgerTest, LooksNowAndThenWhetherTheDirectoryIsStillTheSame) {
  store_->Put("0", "old");
  store_->Put("1", "old");
  ASSERT_TRUE(ledger_.Note(store_, "0"));
  EXPECT_EQ(looks_, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  have_changed_ = true;
  EXPECT_FALSE(ledger_.Note(store_, "1"));
  EXPECT_EQ(looks_, 2);
}

TEST_F(WatchingLedgerTest, ALookAtTheMetadataAloneHasNotSeenTheFile) {
  store_->Put("0", "old");
  const uint64_t looks = ledger_.Expect(store_, "0").looks;
  const auto found = *store_->Stat("0");
  store_->Put("0", "new");
  ASSERT_TRUE(ledger_.NoteRead(store_, "late", WriteNow("late")));
  std::this_thread::sleep_for(std::chrono::milliseconds(30));  // a look at the metadata is due
  EXPECT_FALSE(ledger_.NoteRead(store_, "0", found, looks));
}

TEST_F(WatchingLedgerTest, WhatIsNotedIsNotLookedAtForTheMetadata) {
  store_->Put("0", "old");
  ASSERT_TRUE(ledger_.Note(store_, "0"));
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  have_changed_ = true;
  EXPECT_TRUE(ledger_.Note(store_, "0")) << "it is the version that was shown";
}

TEST_F(ChunkLedgerTest, StaysChangedWhenAnotherVersionIsAboutToBeRead) {
  store_->Put("0.0", "abc");
  ASSERT_TRUE(ledger_.Note(store_, "0.0"));
  store_->Put("0.0", "xyz");
  EXPECT_FALSE(ledger_.Note(store_, "0.0"));
  EXPECT_FALSE(ledger_.Note(store_, "0.7"));
  EXPECT_TRUE(ledger_.Changed());
}

TEST_F(ChunkLedgerTest, KeepsStoresOfTheSameKeyApart) {
  auto other = std::make_shared<test::MemoryStore>();
  store_->Put("", "one file");
  other->Put("", "another file");
  EXPECT_TRUE(ledger_.Note(store_, ""));
  EXPECT_TRUE(ledger_.Note(other, ""));
  EXPECT_FALSE(ledger_.Changed());
}

TEST_F(ChunkLedgerTest, KnowsNoMoreFilesThanThereIsRoomForAndSaysSo) {
  constexpr int kMany = (1 << 17) + 10;
  for (int i = 0; i < kMany; ++i) ASSERT_TRUE(ledger_.Note(store_, std::to_string(i)));
  EXPECT_FALSE(ledger_.has_changed());
  EXPECT_TRUE(ledger_.Changed());
  EXPECT_LE(ledger_.changed_mtime_ns(), 1);  // of no file
  EXPECT_TRUE(ledger_.Note(store_, "0"));    // who reads goes on
  EXPECT_TRUE(ledger_.Note(store_, "more"));
  // There is always room for a few.
  ChunkLedger other;
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(other.Note(store_, std::to_string(i)));
  EXPECT_FALSE(other.Changed());
  store_->Put("7", "new");
  EXPECT_TRUE(other.Changed());
}

TEST_F(ChunkLedgerTest, ReadsThatWereNotNotedAreNoChangeForThoseWhoHaveJustReadAll) {
  constexpr int kMany = (1 << 17) + 10;
  for (int i = 0; i < kMany; ++i) ASSERT_TRUE(ledger_.Note(store_, std::to_string(i)));
  EXPECT_EQ(ledger_.unnoted_reads(), 10u);
  ledger_.Vouch(std::chrono::hours(1));
  for (int looks = 0; looks < 3; ++looks) EXPECT_FALSE(ledger_.Changed());
  store_->Put("7", "new");
  EXPECT_TRUE(ledger_.Changed()) << "what was noted is looked at all the same";
}

TEST_F(ChunkLedgerTest, IsVouchedForSomeTimeAndUntilMoreIsRead) {
  constexpr int kMany = (1 << 17) + 10;
  for (int i = 0; i < kMany; ++i) ASSERT_TRUE(ledger_.Note(store_, std::to_string(i)));
  ledger_.Vouch(std::chrono::nanoseconds(0));
  EXPECT_TRUE(ledger_.Changed()) << "the time is over";
  ledger_.Vouch(std::chrono::hours(1));
  EXPECT_FALSE(ledger_.Changed());
  ASSERT_TRUE(ledger_.Note(store_, "more"));
  EXPECT_TRUE(ledger_.Changed());
}

TEST_F(ChunkLedgerTest, AnArrayThatWasWrittenAgainShowsInAFewOfItsFiles) {
  constexpr size_t kFiles = 5000;
  const auto write = [&](const std::string& value) {
    for (size_t i = 0; i < kFiles; ++i) store_->Put(std::to_string(i), value);
  };
  write("old");
  for (size_t i = 0; i < kFiles; ++i) ASSERT_TRUE(ledger_.Note(store_, std::to_string(i)));
  EXPECT_FALSE(ledger_.Changed());
  write("new");
  const size_t before = store_->stats();
  EXPECT_TRUE(ledger_.Changed());
  EXPECT_LT(store_->stats() - before, 100u);
}

TEST_F(ChunkLedgerTest, OneChangedFileOfManyIsFound) {
  constexpr size_t kFiles = 3000;
  for (const size_t changed : {size_t{0}, size_t{1}, size_t{1023}, size_t{1024}, kFiles - 1}) {
    ChunkLedger ledger;
    for (size_t i = 0; i < kFiles; ++i) ASSERT_TRUE(ledger.Note(store_, std::to_string(i)));
    EXPECT_FALSE(ledger.Changed());
    store_->Put(std::to_string(changed), std::to_string(changed));
    EXPECT_TRUE(ledger.Changed()) << changed;
  }
}

TEST_F(ChunkLedgerTest, KnowsWhatTheNextReadHasToMatch) {
  store_->Put("a", "abc");
  EXPECT_EQ(ledger_.Expect(store_, "a").version, std::nullopt);
  ASSERT_TRUE(ledger_.Note(store_, "a"));
  EXPECT_EQ(ledger_.Expect(store_, "a").version, (*store_->Stat("a"))->generation);
  ASSERT_TRUE(ledger_.Note(store_, "absent"));
  EXPECT_EQ(ledger_.Expect(store_, "absent").version, std::nullopt);
}

TEST_F(ChunkLedgerTest, GivesBackTheRoomThatItTook) {
  for (int round = 0; round < 3; ++round) {
    ChunkLedger ledger;
    for (int i = 0; i < 60'000; ++i) ASSERT_TRUE(ledger.Note(store_, std::to_string(i)));
    EXPECT_FALSE(ledger.Changed());
  }
}

}  // namespace
}  // namespace ndlfs::cache
