// SPDX-License-Identifier: MIT
#include "fs/serve/request_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <latch>
#include <random>
#include <thread>
#include <vector>

namespace ndlfs::fs {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using Clock = RequestQueue::Clock;

// Counts its answers, of which there must be one.
class FakeRequest final : public QueuedRequest {
 public:
  FakeRequest(uid_t user, Lane lane, std::function<void()> work,
              Clock::time_point arrival = Clock::now())
      : QueuedRequest(user, lane, arrival), work_(std::move(work)) {}

  void Run() override {
    ++runs;
    if (work_) work_();
    Answer(0);
  }
  void Refuse(int error) override {
    told = error;
    if (Answer(error)) ++refusals;
  }
  bool IsWanted() override { return is_wanted; }
  Clock::duration TakeCharge() override { return cost; }

  bool is_answered() const { return is_answered_; }
  // 0 for success.
  int answer() const { return answer_; }

  std::atomic<bool> is_wanted{true};
  Clock::duration cost = {};
  std::atomic<int> runs{0};
  std::atomic<int> refusals{0};
  std::atomic<int> told{0};  // the error of the last Refuse()

 private:
  bool Answer(int error) {
    if (is_answered_.exchange(true)) return false;
    answer_ = error;
    return true;
  }

  const std::function<void()> work_;
  std::atomic<bool> is_answered_{false};
  std::atomic<int> answer_{-1};
};
using FakePtr = std::shared_ptr<FakeRequest>;

FakePtr Read(uid_t user, std::function<void()> work = {}) {
  return std::make_shared<FakeRequest>(user, Lane::kRead, std::move(work));
}
FakePtr Look(uid_t user, std::function<void()> work = {}) {
  return std::make_shared<FakeRequest>(user, Lane::kLook, std::move(work));
}

// A request that runs on another thread until it is let go. A thread of the queue may still be
// in it when this has gone.
class Blocker {
 public:
  Blocker(RequestQueue& queue, uid_t user, Lane lane = Lane::kRead,
          Clock::time_point arrival = Clock::now())
      : request(std::make_shared<FakeRequest>(
            user, lane,
            [state = state_] {
              state->runs.count_down();
              state->go.wait();
            },
            arrival)),
        thread_([this, &queue] { queue.Run(request); }) {
    state_->runs.wait();
  }
  ~Blocker() { LetGo(); }
  void LetGo() {
    if (!thread_.joinable()) return;
    state_->go.count_down();
    thread_.join();
  }

 private:
  struct State {
    std::latch runs{1};
    std::latch go{1};
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();

 public:
  const FakePtr request;

 private:
  std::thread thread_;
};

void WaitUntil(const std::function<bool()>& condition) {
  while (!condition()) std::this_thread::sleep_for(milliseconds(1));
}

TEST(RequestQueueTest, ReadsThatAreAskedForMeanwhileRunOnTheSameThread) {
  RequestQueue queue({.reads_at_once = 1});
  std::vector<int> order;
  queue.Run(Read(7, [&] {
    queue.Run(Read(7, [&] { order.push_back(2); }));
    order.push_back(1);
  }));
  EXPECT_THAT(order, ElementsAre(1, 2));
}

TEST(RequestQueueTest, ThreadThatHasOtherThingsToDoRunsNoRequest) {
  RequestQueue queue({.reads_at_once = 1, .only_on_own_threads = true});
  const auto here = std::this_thread::get_id();
  std::atomic<int> elsewhere = 0;
  const auto note = [&] { elsewhere += std::this_thread::get_id() != here; };
  const std::vector<FakePtr> requests = {Look(1, note), Read(1, note), Read(2, note)};
  for (const FakePtr& request : requests) queue.Run(request);
  for (const FakePtr& request : requests) {
    WaitUntil([&] { return request->is_answered(); });
  }
  EXPECT_EQ(elsewhere, 3);
}

TEST(RequestQueueTest, UsersTakeTurns) {
  RequestQueue queue({.reads_at_once = 4, .shared = true});
  Blocker first(queue, 1);
  const Blocker second(queue, 1);
  const Blocker third(queue, 2);
  const Blocker fourth(queue, 2);
  std::vector<uid_t> users;
  for (const uid_t user : std::vector<uid_t>{1, 1, 1, 2, 1, 2}) {
    queue.Run(Read(user, [&users, user] { users.push_back(user); }));
  }
  EXPECT_THAT(users, ElementsAre());
  first.LetGo();
  EXPECT_THAT(users, ElementsAre(1, 2, 1, 2, 1, 1));
}

TEST(RequestQueueTest, UserWhoHasCostMuchWaitsUntilOthersHaveCostAsMuch) {
  RequestQueue queue({.reads_at_once = 2, .shared = true});
  Blocker first(queue, 1);
  const Blocker second(queue, 2);
  std::vector<uid_t> users;
  for (const uid_t user : std::vector<uid_t>{1, 1, 1, 2, 2, 2, 2}) {
    const FakePtr read = Read(user, [&users, user] { users.push_back(user); });
    read->cost = seconds(user == 1 ? 3 : 1);
    queue.Run(read);
  }
  first.LetGo();
  EXPECT_THAT(users, ElementsAre(1, 2, 2, 2, 1, 2, 1));
  EXPECT_EQ(queue.stats().charged_seconds, 13);
}

TEST(RequestQueueTest, UserWithoutRequestsDoesNotWaitForThoseOfOthers) {
  RequestQueue queue({.reads_at_once = 2, .shared = true});
  Blocker first(queue, 1);
  Blocker second(queue, 1);
  const FakePtr waiting = Read(1);
  queue.Run(waiting);
  const FakePtr other = Read(2);
  queue.Run(other);
  WaitUntil([&] { return other->is_answered(); });
  EXPECT_EQ(other->answer(), 0);
  EXPECT_FALSE(waiting->is_answered());
  EXPECT_EQ(queue.stats().waiting, 1u);
}

TEST(RequestQueueTest, LookDoesNotWaitForReadsNorForScans) {
  std::latch go(1);
  RequestQueue queue({.reads_at_once = 1});
  Blocker read(queue, 1);
  const FakePtr waiting = Read(1);
  queue.Run(waiting);
  queue.Run(std::make_shared<FakeRequest>(1, Lane::kScan, [&] { go.wait(); }));
  const FakePtr look = Look(1);
  queue.Run(look);
  EXPECT_EQ(look->answer(), 0) << "on this thread";
  EXPECT_FALSE(waiting->is_answered());
  go.count_down();
}

TEST(RequestQueueTest, ManyStuckLooksOfOneUserLeaveRoomForThoseOfAnother) {
  RequestQueue queue({.shared = true});
  std::vector<std::unique_ptr<Blocker>> stuck;
  for (int i = 0; i < 16; ++i) {
    stuck.push_back(std::make_unique<Blocker>(queue, 1, Lane::kLook));
  }
  const FakePtr one_more = Look(1);
  queue.Run(one_more);
  EXPECT_FALSE(one_more->is_answered());
  const FakePtr other = Look(2);
  queue.Run(other);
  EXPECT_EQ(other->answer(), 0);
  stuck.clear();
  EXPECT_EQ(one_more->answer(), 0);
}

TEST(RequestQueueTest, RequestThatWaitsTooLongIsRefusedAndNeverRun) {
  RequestQueue queue({.reads_at_once = 1, .timeout = seconds(30)});
  Blocker running(queue, 1);
  const FakePtr waiting = Read(1);
  queue.Run(waiting);
  queue.Tick(Clock::now() + seconds(29));
  EXPECT_FALSE(waiting->is_answered());
  queue.Tick(Clock::now() + seconds(31));
  EXPECT_EQ(waiting->answer(), ETIMEDOUT);
  EXPECT_EQ(running.request->answer(), ETIMEDOUT);
  EXPECT_EQ(queue.stats().abandoned, 1u);
  running.LetGo();
  EXPECT_EQ(running.request->answer(), ETIMEDOUT);
  EXPECT_EQ(running.request->refusals, 1);
  EXPECT_EQ(waiting->runs, 0);
  EXPECT_EQ(queue.stats().timed_out, 2u);
  EXPECT_EQ(queue.stats().abandoned, 0u);
}

TEST(RequestQueueTest, WithoutTimeoutNothingIsRefused) {
  RequestQueue queue({.reads_at_once = 1});
  Blocker running(queue, 1);
  queue.Tick(Clock::now() + std::chrono::hours(1000));
  EXPECT_FALSE(running.request->is_answered());
}

TEST(RequestQueueTest, TimeCountsFromTheArrivalAlsoInAnotherLane) {
  RequestQueue queue({.reads_at_once = 1, .timeout = seconds(30)});
  const auto now = Clock::now();
  Blocker young(queue, 1);
  const auto old = std::make_shared<FakeRequest>(1, Lane::kRead, nullptr, now - seconds(20));
  queue.Run(old);
  queue.Tick(now + seconds(11));
  EXPECT_EQ(old->answer(), ETIMEDOUT);
  EXPECT_FALSE(young.request->is_answered());
}

TEST(RequestQueueTest, RequestOfCallerThatIsGoneIsRefused) {
  RequestQueue queue({.reads_at_once = 1});
  Blocker running(queue, 1);
  const FakePtr waiting = Read(1);
  const FakePtr gone = Read(1);
  queue.Run(waiting);
  queue.Run(gone);
  gone->is_wanted = false;
  queue.Tick(Clock::now() + seconds(1));
  EXPECT_EQ(gone->answer(), EINTR);
  EXPECT_FALSE(waiting->is_answered());
  EXPECT_EQ(queue.stats().waiting, 1u);
  EXPECT_EQ(queue.stats().interrupted, 1u);
  running.LetGo();
  EXPECT_EQ(waiting->answer(), 0);
  EXPECT_EQ(gone->runs, 0);
}

TEST(RequestQueueTest, InterruptHasTheCallerLookedAtAtOnce) {
  RequestQueue queue({.reads_at_once = 1});
  std::atomic<int> wakes = 0;
  queue.set_wake([&](Clock::duration within) { wakes += within == Clock::duration::zero(); });
  Blocker running(queue, 1);
  running.request->is_wanted = false;
  queue.Tick(Clock::now());
  EXPECT_FALSE(running.request->is_answered()) << "has just come";
  queue.NoteInterrupt(running.request.get());
  EXPECT_EQ(wakes, 1);
  queue.Tick(Clock::now());
  EXPECT_EQ(running.request->answer(), EINTR);
}

TEST(RequestQueueTest, StuckReadsLeaveTheirPlaceToOthers) {
  RequestQueue queue({.reads_at_once = 1});
  Blocker stuck(queue, 1);
  const FakePtr waiting = Read(1);
  queue.Run(waiting);
  auto now = Clock::now();
  queue.Tick(now);
  EXPECT_FALSE(waiting->is_answered());
  for (int i = 0; i < 3; ++i) queue.Tick(now += milliseconds(100));
  WaitUntil([&] { return waiting->is_answered(); });
  EXPECT_FALSE(stuck.request->is_answered());
}

TEST(RequestQueueTest, MoreRunWhereTheSourceIsSlow) {
  constexpr int kMost = 5;
  std::latch all_run(kMost);
  std::atomic<int> done = 0;
  RequestQueue queue({.reads_at_once = 1, .most_reads = [] { return unsigned{kMost}; }});
  const auto work = [&] {
    all_run.arrive_and_wait();
    ++done;
  };
  std::thread caller([&] {
    queue.Run(Read(1, [&] {
      for (int i = 1; i < kMost; ++i) queue.Run(Read(2, work));
      work();
    }));
  });
  caller.join();
  WaitUntil([&] { return done == kMost; });
}

TEST(RequestQueueTest, OneUserOfASharedMountLeavesRoomForOthersWhereTheSourceIsSlow) {
  std::latch go(1);
  RequestQueue queue(
      {.reads_at_once = 2, .most_reads = [] { return 8u; }, .most_running = 8, .shared = true});
  std::vector<FakePtr> greedy;
  std::vector<std::thread> callers;
  for (int i = 0; i < 20; ++i) {
    greedy.push_back(Read(1, [&] { go.wait(); }));
    // The first two run on the thread that brings them.
    if (i < 2) {
      callers.emplace_back([&queue, request = greedy.back()] { queue.Run(request); });
      WaitUntil([&] { return greedy.back()->runs == 1; });
    } else {
      queue.Run(greedy.back());
    }
  }
  EXPECT_EQ(queue.stats().running, 6u);
  const FakePtr other = Read(2);
  queue.Run(other);
  WaitUntil([&] { return other->is_answered(); });
  go.count_down();
  for (std::thread& caller : callers) caller.join();
  WaitUntil([&] { return queue.stats().running == 0; });
}

TEST(RequestQueueTest, TooManyWaitingRequestsOfOneUserAreRefusedAndOthersAreNot) {
  RequestQueue queue({.reads_at_once = 1, .shared = true, .most_waiting = 3});
  Blocker running(queue, 1);
  Blocker other(queue, 2);
  std::vector<FakePtr> requests;
  for (int i = 0; i < 5; ++i) {
    requests.push_back(Read(1));
    queue.Run(requests.back());
  }
  const FakePtr of_other = Read(2);
  queue.Run(of_other);
  std::vector<int> answers;
  for (const FakePtr& request : requests) answers.push_back(request->answer());
  EXPECT_THAT(answers, ElementsAre(-1, -1, -1, EBUSY, EBUSY));
  EXPECT_FALSE(of_other->is_answered());
  EXPECT_EQ(queue.stats().crowded_out, 2u);
}

TEST(RequestQueueTest, EndRefusesWhatWaitsAndWhatRuns) {
  RequestQueue queue({.reads_at_once = 1});
  Blocker running(queue, 1);
  const FakePtr waiting = Read(1);
  queue.Run(waiting);
  queue.End();
  EXPECT_EQ(waiting->answer(), ENOTCONN);
  EXPECT_EQ(running.request->answer(), ENOTCONN);
  running.LetGo();
  EXPECT_EQ(waiting->runs, 0);
  const FakePtr late = Read(1);
  queue.Run(late);
  EXPECT_EQ(late->answer(), ENOTCONN);
}

TEST(RequestQueueTest, SaysWhenToLookAgain) {
  RequestQueue queue({.reads_at_once = 1});
  EXPECT_EQ(queue.Tick(Clock::now()), std::nullopt);
  Blocker running(queue, 1);
  const auto while_it_runs = queue.Tick(Clock::now());
  ASSERT_TRUE(while_it_runs.has_value());
  queue.Run(Read(1));
  const auto while_one_waits = queue.Tick(Clock::now());
  ASSERT_TRUE(while_one_waits.has_value());
  EXPECT_LT(*while_one_waits, *while_it_runs);
}

// Deadlines, callers that go, and threads of all kinds at once: every request has one answer.
TEST(RequestQueueTest, EveryRequestIsAnsweredOnceWhateverHappens) {
  constexpr int kThreads = 6;
  constexpr int kRequests = 800;
  std::vector<std::vector<FakePtr>> requests(kThreads);
  std::atomic<bool> done = false;
  {
    RequestQueue queue({.reads_at_once = 2,
                        .most_reads = [] { return 4u; },
                        .shared = true,
                        .timeout = milliseconds(3),
                        .most_waiting = 100});
    std::thread ticker([&] {
      while (!done) queue.Tick(Clock::now() + milliseconds(250));
    });
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      requests[t].reserve(kRequests);
      threads.emplace_back([&, t] {
        std::minstd_rand random(static_cast<unsigned>(t) + 1);
        for (int i = 0; i < kRequests; ++i) {
          const auto lane = static_cast<Lane>(random() % kLanes);
          const auto pause = std::chrono::microseconds(random() % 50);
          const FakePtr request = std::make_shared<FakeRequest>(
              random() % 3, lane, [pause] { std::this_thread::sleep_for(pause); });
          request->is_wanted = random() % 8 != 0;
          requests[t].push_back(request);
          queue.Run(request);
          if (random() % 16 == 0) queue.NoteInterrupt(request.get());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    done = true;
    ticker.join();
    queue.End();
    EXPECT_EQ(queue.stats().running, 0u);
    EXPECT_EQ(queue.stats().waiting, 0u);
  }
  for (const auto& of_thread : requests) {
    for (const FakePtr& request : of_thread) {
      ASSERT_TRUE(request->is_answered());
      ASSERT_LE(request->runs, 1);
      ASSERT_LE(request->refusals, 1);
    }
  }
}

TEST(RequestQueueTest, EndAlsoTellsThoseThatWereRefusedBeforeAndStillRun) {
  RequestQueue queue({.timeout = seconds(1)});
  const Blocker late(queue, 1, Lane::kLook, Clock::now() - seconds(2));
  queue.Tick(Clock::now());
  EXPECT_EQ(late.request->told, ETIMEDOUT);
  queue.End();
  EXPECT_EQ(late.request->told, ENOTCONN);
  EXPECT_EQ(late.request->answer(), ETIMEDOUT);
}

}  // namespace
}  // namespace ndlfs::fs
