// SPDX-License-Identifier: MIT
//
// Whatever the order: one version of a view is kept once, few large ones are kept, and a kept
// file has the bytes that the view has now.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "backends/store/source_clock.h"
#include "cache/chunk_ledger.h"
#include "fs/tree/store/kept_views.h"
#include "fs/tree/view/decoded_cache.h"
#include "fs/view/elements/segmented_view.h"
#include "model/mutex.h"
#include "tests/schedules/run_together.h"
#include "tests/schedules/scheduler.h"
#include "tests/support/memory_source.h"
#include "tests/support/python.h"

namespace ndlfs::fs {
namespace {

using model::MutexLock;
using std::chrono::milliseconds;

constexpr size_t kLarge = size_t{5} << 20;

EntityViewPtr NewView(const std::string& name, uint64_t generation, const ViewNode& node) {
  auto view = std::make_shared<EntityView>();
  view->name = name;
  view->generation = generation;
  view->node = node;
  return view;
}

TEST(KeptViewsSchedulesTest, EachVersionIsKeptOnce) {
  const ViewNode small = MakeSegmentedView({Literal("x")}).value();
  const ViewNode large = MakeSegmentedView({Literal(std::string(kLarge, 'x'))}).value();
  test::ForRandomSchedules(500, [&] {
    KeptViews views;
    const auto use = [&](uint64_t seed) {
      std::mt19937_64 random(test::ScheduleNumber() * 8 + seed);
      for (int i = 0; i < 10; ++i) {
        const uint64_t number = random() % 40;
        const std::string name = std::to_string(number);
        EntityViewPtr view = views.Find(name);
        if (view == nullptr || random() % 2 == 0) {
          const uint64_t generation = random() % 2;
          view = views.Keep(
              NewView(name, generation, (number + generation) % 4 == 0 ? large : small));
          EXPECT_EQ(view->generation, generation);
        }
        EXPECT_EQ(view->name, name);
        EXPECT_LE(views.held_bytes(), (size_t{8} << 20) + kLarge + 40 * 1000);
      }
    };
    test::RunTogether({[&] { use(1); }, [&] { use(2); }, [&] { use(3); }});
  });
}

TEST(KeptViewsSchedulesTest, TwoKeepOneVersionInEverySmallSchedule) {
  const ViewNode node = MakeSegmentedView({Literal("x")}).value();
  const uint64_t count = test::ForAllSchedules(3, 20'000, [&] {
    KeptViews views;
    EntityViewPtr first;
    EntityViewPtr second;
    test::RunTogether({[&] { first = views.Keep(NewView("a", 1, node)); },
                       [&] { second = views.Keep(NewView("a", 1, node)); }});
    EXPECT_EQ(first, second);
    EXPECT_EQ(views.Find("a"), first);
  });
  EXPECT_LT(count, 20'000u) << "not all of them";
}

// A file of the source with one letter, and a view of many of these letters.
class LetterView {
 public:
  explicit LetterView(std::chrono::nanoseconds revalidate) : revalidate_(revalidate) {
    files_->UseClock();
    WriteLetter();
    cache_ = DecodedCache::Open({.directory = top_ / "cache", .capacity = 8 << 20}, files_,
                                Freshness(revalidate))
                 .value();
  }

  void WriteLetter() {
    const MutexLock lock(mutex_);
    const auto letter = static_cast<char>('a' + since_.size());
    files_->Put("letter", std::string(1, letter));
    since_.push_back(Clock::now());
  }
  // Reads the kept view, or the view itself, whose bytes are then kept.
  void Read(uint64_t seed) {
    const uint64_t begin = Oldest();
    cache::ChunkLedger ledger;
    if (const auto file = cache_->Find("view", Last(), kSize, ledger)) {
      std::string text(kSize, '?');
      const auto count = file->Read(0, std::as_writable_bytes(std::span(text)));
      ASSERT_TRUE(count) << count.error().message();
      const char letter = text[0];
      EXPECT_EQ(text, std::string(kSize, letter));
      EXPECT_GE(NumberOf(letter), begin) << "an old one";
      ++hits;
      return;
    }
    const int64_t began_ns = backends::MachineClockNs();
    const auto store = files_->OpenStore("");
    const auto value = store->Get("letter", 1);
    ASSERT_TRUE(value && *value);
    const auto letter = static_cast<char>((*value)->bytes.span()[0]);
    const backends::ReadSet::Read read = {store, "letter", (*value)->info.generation};
    const auto writer = cache_->Write("view", NumberOf(letter), kSize, [=] {
      return DecodedCache::AllReads{.reads = {read}, .began_ns = began_ns};
    });
    if (writer == nullptr) return;
    constexpr uint64_t kPiece = kSize / 4;
    const std::string text(2 * kPiece, letter);  // they overlap
    for (uint64_t i = 0; i < 4; ++i) {
      const uint64_t offset = (i + seed) % 4 * kPiece;
      writer->Add(offset, backends::AsBytes(std::string_view(text).substr(0, kSize - offset)));
    }
  }
  uint64_t kept() const { return cache_->stats().kept; }
  uint64_t damaged() const { return cache_->stats().damaged; }

  std::atomic<int> hits{0};

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr uint64_t kSize = uint64_t{128} << 10;

  static uint64_t NumberOf(char letter) { return static_cast<uint64_t>(letter - 'a'); }
  uint64_t Last() const {
    const MutexLock lock(mutex_);
    return since_.size() - 1;
  }
  // The letter that may be seen at the most late.
  uint64_t Oldest() const {
    const MutexLock lock(mutex_);
    uint64_t number = since_.size() - 1;
    while (number != 0 && since_[number] > Clock::now() - revalidate_) --number;
    return number;
  }

  const std::chrono::nanoseconds revalidate_;
  const test::TemporaryDirectory top_;
  const std::shared_ptr<test::MemorySource> files_ = test::MemorySource::Make();
  mutable model::Mutex mutex_;
  std::vector<Clock::time_point> since_;
  std::shared_ptr<DecodedCache> cache_;
};

void ReadAndWrite(std::chrono::nanoseconds revalidate) {
  int hits = 0;
  uint64_t kept = 0;
  test::ForRandomSchedules(150, [&] {
    LetterView view(revalidate);
    std::this_thread::sleep_for(milliseconds(500));
    const auto read = [&](uint64_t seed) {
      std::mt19937_64 random(test::ScheduleNumber() * 8 + seed);
      for (int i = 0; i < 4; ++i) {
        view.Read(random());
        if (random() % 2 == 0) std::this_thread::sleep_for(milliseconds(random() % 1000));
      }
    };
    test::RunTogether({[&] { read(1); }, [&] { read(2); }, [&] { read(3); },
                       [&] {
                         std::this_thread::sleep_for(milliseconds(700));
                         view.WriteLetter();
                       }});
    EXPECT_EQ(view.damaged(), 0u);
    hits += view.hits;
    kept += view.kept();
  });
  EXPECT_GT(hits, 0);
  EXPECT_GT(kept, 0u);
}

TEST(DecodedCacheSchedulesTest, KeptFilesAreWhatTheViewIs) { ReadAndWrite(milliseconds(0)); }

TEST(DecodedCacheSchedulesTest, LooksAreTrustedForTheirTime) {
  ReadAndWrite(milliseconds(300));
}

}  // namespace
}  // namespace ndlfs::fs
