// SPDX-License-Identifier: MIT
#include "backends/store/request_scope.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace ndlfs::backends {
namespace {

TEST(RequestScopeTest, ForgetsWithItsRequest) {
  EXPECT_EQ(RequestScope::Current(), nullptr);
  {
    RequestScope scope;
    ASSERT_EQ(RequestScope::Current(), &scope);
    scope.Keep(1, "a", std::make_shared<std::string>("found"));
    EXPECT_EQ(*scope.Find<std::string>(1, "a"), "found");
    EXPECT_EQ(scope.Find<std::string>(2, "a"), nullptr);
    EXPECT_EQ(scope.Find<std::string>(1, "b"), nullptr);
    {
      const RequestScope inner;
      EXPECT_EQ(RequestScope::Current()->Find<std::string>(1, "a"), nullptr);
    }
    EXPECT_NE(RequestScope::Current()->Find<std::string>(1, "a"), nullptr);
  }
  EXPECT_EQ(RequestScope::Current(), nullptr);
  const RequestScope next;
  EXPECT_EQ(next.Find<std::string>(1, "a"), nullptr);
}

TEST(RequestScopeTest, ForgetsWhatItIsToldTo) {
  RequestScope scope;
  scope.Keep(1, "a", std::make_shared<int>(1));
  scope.Keep(2, "a", std::make_shared<int>(2));
  EXPECT_FALSE(scope.looks_anew());
  RequestScope::ForgetAll();
  EXPECT_TRUE(scope.looks_anew());
  EXPECT_EQ(scope.Find<int>(1, "a"), nullptr);
  EXPECT_EQ(scope.Find<int>(2, "a"), nullptr);
}

TEST(RequestScopeTest, KeepsAFewOfVeryMany) {
  RequestScope scope;
  for (int i = 0; i < 10'000; ++i) scope.Keep(1, std::to_string(i), std::make_shared<int>(i));
  int kept = 0;
  for (int i = 0; i < 10'000; ++i) kept += scope.Find<int>(1, std::to_string(i)) != nullptr;
  EXPECT_GT(kept, 0);
  EXPECT_LT(kept, 1000);
}

}  // namespace
}  // namespace ndlfs::backends
