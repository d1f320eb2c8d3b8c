// SPDX-License-Identifier: MIT
//
// Whatever the order: each request runs once at most, has an answer in the end, and nobody
// waits for what never comes.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "fs/serve/request_queue.h"
#include "tests/schedules/run_together.h"
#include "tests/schedules/scheduler.h"

namespace ndlfs::fs {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = RequestQueue::Clock;

class Request final : public QueuedRequest {
 public:
  Request(uid_t user, Lane lane, std::function<void()> work = {})
      : QueuedRequest(user, lane, Clock::now()), work_(std::move(work)) {}

  void Run() override {
    EXPECT_FALSE(has_run_.exchange(true)) << "it ran twice";
    test::SchedulePoint();
    if (work_) work_();
    if (!is_answered_.exchange(true)) answer = 0;
  }
  void Refuse(int error) override {
    if (!is_answered_.exchange(true)) answer = error;
  }
  bool IsWanted() override { return is_wanted; }

  bool has_run() const { return has_run_; }

  std::atomic<int> answer{-1};
  std::atomic<bool> is_wanted{true};

 private:
  const std::function<void()> work_;
  std::atomic<bool> has_run_{false};
  std::atomic<bool> is_answered_{false};
};
using RequestPtr = std::shared_ptr<Request>;
using Requests = std::vector<RequestPtr>;

// Reads of one user.
Requests Reads(size_t count) {
  Requests requests;
  while (requests.size() < count) requests.push_back(std::make_shared<Request>(1, Lane::kRead));
  return requests;
}

// Brings `count` of the requests to the queue, on the thread that calls the function.
std::function<void()> Bring(RequestQueue& queue, const Requests& requests, size_t from,
                            size_t count) {
  return [&queue, &requests, from, count] {
    for (size_t i = from; i < from + count; ++i) queue.Run(requests[i]);
  };
}

void ExpectAnswers(const Requests& requests) {
  for (const RequestPtr& request : requests) {
    EXPECT_NE(request->answer, -1) << "no answer";
    EXPECT_TRUE(request->answer != 0 || request->has_run());
  }
}

void ExpectAtRest(const RequestQueue& queue) {
  const RequestQueue::Stats stats = queue.stats();
  EXPECT_EQ(stats.waiting, 0u);
  EXPECT_EQ(stats.running, 0u);
  EXPECT_EQ(stats.abandoned, 0u);
}

// Requests of several users in all lanes, by three threads.
void ServeMany(const RequestQueue::Options& options) {
  Requests requests;
  for (const uid_t user : {1u, 2u, 1u}) {
    for (const Lane lane : {Lane::kRead, Lane::kLook, Lane::kRead, Lane::kScan}) {
      requests.push_back(std::make_shared<Request>(user, lane));
    }
  }
  RequestQueue queue(options);
  test::RunTogether({Bring(queue, requests, 0, 4), Bring(queue, requests, 4, 4),
                     Bring(queue, requests, 8, 4)});
  queue.End();
  ExpectAnswers(requests);
  for (const RequestPtr& request : requests) {
    EXPECT_TRUE(request->answer == 0 || request->answer == ENOTCONN) << request->answer;
  }
  ExpectAtRest(queue);
}

TEST(RequestQueueSchedulesTest, AnswersAll) {
  test::ForRandomSchedules(300, [] { ServeMany({.reads_at_once = 1}); });
  test::ForRandomSchedules(300, [] { ServeMany({.reads_at_once = 2, .shared = true}); });
  test::ForRandomSchedules(
      300, [] { ServeMany({.reads_at_once = 1, .only_on_own_threads = true}); });
}

TEST(RequestQueueSchedulesTest, AnswersAllInEverySmallSchedule) {
  test::ForAllSchedules(2, 20'000, [] {
    const Requests requests = Reads(2);
    RequestQueue queue({.reads_at_once = 1});
    test::RunTogether({Bring(queue, requests, 0, 1), Bring(queue, requests, 1, 1)});
    queue.End();
    ExpectAnswers(requests);
    ExpectAtRest(queue);
  });
}

TEST(RequestQueueSchedulesTest, EndsWhileRequestsCome) {
  test::ForRandomSchedules(500, [] {
    const Requests requests = Reads(6);
    RequestQueue queue({.reads_at_once = 1, .only_on_own_threads = true});
    test::RunTogether(
        {Bring(queue, requests, 0, 3), Bring(queue, requests, 3, 3), [&] { queue.End(); }});
    ExpectAnswers(requests);
    ExpectAtRest(queue);
  });
}

// One read hangs for an hour; the others are refused when their time has come, or run beside it
// because it is stuck.
TEST(RequestQueueSchedulesTest, NobodyWaitsLongerThanTheTimeout) {
  test::ForRandomSchedules(300, [] {
    Requests requests = Reads(5);
    requests[0] = std::make_shared<Request>(
        1, Lane::kRead, [] { std::this_thread::sleep_for(std::chrono::hours(1)); });
    RequestQueue queue({.reads_at_once = 1, .timeout = seconds(5)});
    std::atomic<int> brought{0};
    const auto tick = [&] {
      bool are_all_here = false;
      for (int second = 0; second < 12; ++second) {
        std::this_thread::sleep_for(seconds(1));
        queue.Tick(Clock::now());
        if (second == 4) are_all_here = brought == 2;
      }
      if (are_all_here) ExpectAnswers(requests);
    };
    const auto bring = [&](size_t from) {
      Bring(queue, requests, from, 2)();
      ++brought;
    };
    test::RunTogether(
        {Bring(queue, requests, 0, 1), [&] { bring(1); }, [&] { bring(3); }, tick});
    queue.End();
    ExpectAtRest(queue);
  });
}

TEST(RequestQueueSchedulesTest, InterruptedRequestsAreAnsweredOnce) {
  test::ForRandomSchedules(500, [] {
    const Requests requests = Reads(6);
    RequestQueue queue({.reads_at_once = 1, .only_on_own_threads = true});
    test::RunTogether({Bring(queue, requests, 0, 6), [&] {
                         for (const RequestPtr& request : requests) {
                           request->is_wanted = false;
                           queue.NoteInterrupt(request.get());
                           queue.Tick(Clock::now() + milliseconds(100));
                         }
                       }});
    queue.End();
    ExpectAnswers(requests);
    ExpectAtRest(queue);
  });
}

}  // namespace
}  // namespace ndlfs::fs
