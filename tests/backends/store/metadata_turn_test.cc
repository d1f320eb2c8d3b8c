// SPDX-License-Identifier: MIT
#include "backends/store/metadata_turn.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "backends/store/caller.h"
#include "tests/support/turn_taker.h"

namespace ndlfs::backends {
namespace {

constexpr uint64_t kHalf = MetadataTurn::kMost / 2;

class Taker : public test::TurnTaker {
 public:
  explicit Taker(uint64_t bytes, CallerPtr caller = nullptr)
      : TurnTaker([bytes] { return MetadataTurn::Take(bytes); }, std::move(caller)) {}
};

TEST(MetadataTurnTest, TurnsWaitUntilThereIsRoom) {
  Taker first(kHalf / 2);
  Taker second(kHalf / 2);
  first.WaitForTurn();
  second.WaitForTurn();
  Taker third(kHalf);
  EXPECT_FALSE(third.has_turn());
  first.End();
  EXPECT_FALSE(third.has_turn());
  second.End();
  third.WaitForTurn();
}

TEST(MetadataTurnTest, NobodyWaitsForATurnThatNeedsMoreThanThereIs) {
  Taker huge(100 * MetadataTurn::kMost);
  huge.WaitForTurn();
  Taker another(100 * MetadataTurn::kMost);
  Taker ordinary(kHalf);
  ordinary.WaitForTurn();
  EXPECT_FALSE(another.has_turn());
  huge.End();
  another.WaitForTurn();
}

TEST(MetadataTurnTest, SmallTurnsDoNotWait) {
  Taker all(kHalf);
  all.WaitForTurn();
  EXPECT_TRUE(MetadataTurn::Take(MetadataTurn::kSmall - 1));
}

TEST(MetadataTurnTest, AThreadThatHasATurnGetsAnother) {
  const auto turn = MetadataTurn::Take(kHalf);
  EXPECT_TRUE(MetadataTurn::Take(kHalf));
}

TEST(MetadataTurnTest, AUserWithOneTurnComesBeforeOneWithMany) {
  const auto crowd = FindCaller(1, 1, {});
  const auto other = FindCaller(2, 2, {});
  std::vector<std::unique_ptr<Taker>> takers;
  takers.push_back(std::make_unique<Taker>(kHalf / 2, crowd));
  takers[0]->WaitForTurn();
  Taker rest(kHalf / 2, crowd);
  rest.WaitForTurn();
  for (int i = 0; i < 4; ++i) takers.push_back(std::make_unique<Taker>(kHalf / 2, crowd));
  // Those came first, as far as a test can tell; the other user has no turn yet.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  Taker late(kHalf / 2, other);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  rest.End();
  late.WaitForTurn();
}

TEST(MetadataTurnTest, ARequestThatNobodyWaitsForLeavesTheQueue) {
  Taker all(kHalf);
  all.WaitForTurn();
  Taker waiting(kHalf);
  waiting.Cancel();
  waiting.WaitForEnd();
  all.End();
  Taker next(kHalf);
  next.WaitForTurn();
}

}  // namespace
}  // namespace ndlfs::backends
