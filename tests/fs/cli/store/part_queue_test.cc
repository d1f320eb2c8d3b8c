// SPDX-License-Identifier: MIT
#include "fs/cli/store/part_queue.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace ndlfs::fs {
namespace {

// Counts how often each part was run.
class CountedWork final : public PartedWork {
 public:
  explicit CountedWork(uint64_t parts, uint64_t enough = UINT64_MAX)
      : runs(parts), enough_(enough) {}

  uint64_t part_count() const override { return runs.size(); }
  uint64_t part_cost() const override { return uint64_t{1} << 20; }
  uint64_t Run(uint64_t first, uint64_t count, const std::atomic<bool>&) override {
    for (uint64_t i = 0; i < count; ++i) {
      if (has_enough()) return count;
      ++runs[first + i];
      ++done;
      if (on_part) on_part();
    }
    return count;
  }
  bool has_enough() const override { return done >= enough_; }
  void Finish() override { ++finished; }

  std::vector<std::atomic<int>> runs;
  std::atomic<uint64_t> done{0};
  std::atomic<int> finished{0};
  std::function<void()> on_part;

 private:
  const uint64_t enough_;
};

TEST(PartQueueTest, RunsEachPartOnce) {
  PartQueue queue(3);
  std::vector<std::shared_ptr<CountedWork>> works;
  queue.Run(
      [&] {
        for (uint64_t parts = 1; parts < 50; ++parts) {
          works.push_back(std::make_shared<CountedWork>(parts));
          queue.Add(works.back());
        }
      },
      [] {});
  for (const auto& work : works) {
    for (const auto& runs : work->runs) EXPECT_EQ(runs, 1);
    EXPECT_EQ(work->finished, 1);
  }
  const auto progress = queue.progress();
  EXPECT_TRUE(progress.all_found);
  EXPECT_EQ(progress.done, progress.total);
}

TEST(PartQueueTest, WorkThatIsStoppedIsNotFinished) {
  PartQueue queue(2);
  const auto work = std::make_shared<CountedWork>(1000);
  work->on_part = [&] { queue.Stop(); };
  queue.Run([&] { queue.Add(work); }, [] {});
  EXPECT_TRUE(queue.stopped());
  EXPECT_LT(work->done, 1000u);
  EXPECT_EQ(work->finished, 0);
}

TEST(PartQueueTest, WorkThatHasEnoughIsFinished) {
  PartQueue queue(2);
  const auto work = std::make_shared<CountedWork>(100'000, 5);
  queue.Run([&] { queue.Add(work); }, [] {});
  EXPECT_EQ(work->finished, 1);
  EXPECT_LT(work->done, 20u);
  EXPECT_EQ(queue.progress().done, queue.progress().total);
}

}  // namespace
}  // namespace ndlfs::fs
