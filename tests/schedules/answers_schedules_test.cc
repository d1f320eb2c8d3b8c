// SPDX-License-Identifier: MIT
//
// Whatever the order: an answer that is found was given to a question that was asked after the
// last time that all were forgotten, is not older than it may be, and no answer to an earlier
// question comes back.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <thread>

#include "backends/store/answers.h"
#include "model/mutex.h"
#include "tests/schedules/run_together.h"
#include "tests/schedules/scheduler.h"

namespace ndlfs::backends {
namespace {

using model::MutexLock;
using std::chrono::milliseconds;
using Time = Trust::Time;

constexpr milliseconds kLifetime{100};

// What one key has: an answer is the time at which the question was asked.
class Memory {
 public:
  void Ask() {
    const Time asked = Now();
    test::SchedulePoint();
    answers_.Put("key", asked, asked);
    const MutexLock lock(mutex_);
    newest_ = std::max(newest_, asked);
  }
  void Find() {
    const Time begin = Now();
    Time forgotten;
    Time newest;
    {
      const MutexLock lock(mutex_);
      forgotten = forgotten_;
      newest = newest_;
    }
    const auto found = answers_.Find("key");
    if (!found) return;
    ++hits;
    EXPECT_EQ(found->what, found->when);
    EXPECT_GE(found->when, forgotten);
    EXPECT_GE(found->when, newest) << "an earlier one";
    EXPECT_LT(begin - found->when, kLifetime);
  }
  void ForgetAll() {
    const Time begin = Now();
    answers_.ForgetAll();
    const MutexLock lock(mutex_);
    forgotten_ = std::max(forgotten_, begin);
  }

  std::atomic<int> hits{0};

 private:
  static Time Now() { return std::chrono::steady_clock::now(); }

  Answers<Time> answers_{{.lifetime = kLifetime}, 10};
  model::Mutex mutex_;
  Time forgotten_ = Time::min();  // all answers from before have been forgotten
  Time newest_ = Time::min();     // of the answers that have been put
};

TEST(AnswersSchedulesTest, NothingOldIsFound) {
  int hits = 0;
  test::ForRandomSchedules(1000, [&] {
    Memory memory;
    const auto use = [&](uint64_t seed) {
      std::mt19937_64 random(test::ScheduleNumber() * 8 + seed);
      for (int i = 0; i < 8; ++i) {
        switch (random() % 8) {
          case 0:
            std::this_thread::sleep_for(milliseconds(random() % 120));
            break;
          case 1:
          case 2:
            memory.ForgetAll();
            break;
          case 3:
          case 4:
          case 5:
            memory.Ask();
            break;
          default:
            memory.Find();
        }
      }
    };
    test::RunTogether({[&] { use(1); }, [&] { use(2); }, [&] { use(3); }});
    hits += memory.hits;
  });
  EXPECT_GT(hits, 0);
}

TEST(AnswersSchedulesTest, TwoForgetInEverySmallSchedule) {
  const uint64_t count = test::ForAllSchedules(3, 20'000, [] {
    Memory memory;
    test::RunTogether({[&] { memory.ForgetAll(); },
                       [&] {
                         memory.Ask();
                         memory.ForgetAll();
                         memory.Find();
                       }});
    memory.Find();
  });
  EXPECT_LT(count, 20'000u) << "not all of them";
}

}  // namespace
}  // namespace ndlfs::backends
