// SPDX-License-Identifier: MIT
#include "backends/store/cancellation.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/support/turn_taker.h"

namespace ndlfs::backends {
namespace {

using std::chrono::microseconds;

TEST(CancellationTest, CallsAndChunksAreChargedToTheInnermostRequest) {
  CancellationScope::ChargeCall();  // of nobody
  const auto outer = std::make_shared<const Cancellation>();
  const auto inner = std::make_shared<const Cancellation>();
  const CancellationScope outer_scope(outer);
  CancellationScope::ChargeCall();
  {
    const CancellationScope inner_scope(inner);
    CancellationScope::ChargeChunk();
    CancellationScope::ChargeChunk();
  }
  EXPECT_EQ(outer->TakeCharge(), microseconds(50));
  EXPECT_EQ(outer->TakeCharge(), microseconds(0));
  EXPECT_EQ(inner->TakeCharge(), microseconds(100));
}

TEST(CancellationTest, ProcessorTimeOfAllThreadsIsChargedOnce) {
  const auto request = std::make_shared<const Cancellation>(/*is_charged=*/true);
  {
    const CancellationScope scope(request);
    { const CancellationScope again(request); }
    EXPECT_EQ(request->TakeCharge().count(), 0);
    std::thread([&] { const CancellationScope helper(request); }).join();
    EXPECT_GT(request->TakeCharge().count(), 0);
  }
  EXPECT_GT(request->TakeCharge().count(), 0);
}

class Worker : public test::TurnTaker {
 public:
  Worker(OneAtATime& turns, uint64_t user)
      : TurnTaker([&, user] { return turns.Take(user); }) {}
};

TEST(OneAtATimeTest, AUserHasOneTurn) {
  OneAtATime turns;
  Worker first(turns, 1000);
  first.WaitForTurn();
  Worker second(turns, 1000);
  EXPECT_FALSE(second.has_turn());
  first.End();
  second.WaitForTurn();
}

TEST(OneAtATimeTest, UsersDoNotWaitForEachOther) {
  OneAtATime turns;
  Worker first(turns, 1000);
  first.WaitForTurn();
  Worker second(turns, 1001);
  second.WaitForTurn();
}

TEST(OneAtATimeTest, WaitingEndsWhenNobodyWantsTheResult) {
  OneAtATime turns;
  Worker first(turns, 1000);
  first.WaitForTurn();
  Worker second(turns, 1000);
  second.Cancel();
  second.WaitForEnd();
  EXPECT_TRUE(first.has_turn());
}

}  // namespace
}  // namespace ndlfs::backends
