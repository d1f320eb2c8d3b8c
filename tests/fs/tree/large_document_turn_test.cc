// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "backends/store/caller.h"
#include "fs/tree/store/document_cache.h"
#include "tests/support/turn_taker.h"

namespace ndlfs::fs {
namespace {

class Writer : public test::TurnTaker {
 public:
  explicit Writer(uid_t uid)
      : TurnTaker([] { return LargeDocumentTurn::Take(); },
                  backends::FindCaller(uid, uid, {})) {}
};

TEST(LargeDocumentTurnTest, AUserHasOneTurnAtATime) {
  Writer first(1000);
  first.WaitForTurn();
  Writer second(1000);
  EXPECT_FALSE(second.has_turn());
  first.End();
  second.WaitForTurn();
}

TEST(LargeDocumentTurnTest, UsersDoNotWaitForEachOther) {
  Writer first(1000);
  first.WaitForTurn();
  Writer second(1001);
  second.WaitForTurn();
}

TEST(LargeDocumentTurnTest, WaitingEndsWhenNobodyWantsTheDocument) {
  Writer first(1000);
  first.WaitForTurn();
  Writer second(1000);
  second.Cancel();
  second.WaitForEnd();
  EXPECT_TRUE(first.has_turn());
}

}  // namespace
}  // namespace ndlfs::fs
