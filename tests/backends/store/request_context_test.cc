// SPDX-License-Identifier: MIT
#include "backends/store/request_context.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace ndlfs::backends {
namespace {

TEST(RequestContextTest, IsThatOfTheInnermostScope) {
  EXPECT_EQ(RequestContext::Current().caller, nullptr);
  const CallerPtr caller = FindCaller(1000, 1000, {});
  const auto request = std::make_shared<const Cancellation>();
  {
    const RequestContext::Scope outer({caller, request, /*looks_anew=*/true});
    {
      const RequestContext::Scope inner(RequestContext{});
      EXPECT_EQ(RequestContext::Current().caller, nullptr);
      EXPECT_EQ(RequestContext::Current().cancellation, nullptr);
      EXPECT_FALSE(RequestContext::Current().looks_anew);
    }
    EXPECT_EQ(RequestContext::Current().caller, caller);
    EXPECT_EQ(RequestContext::Current().cancellation, request);
    EXPECT_TRUE(RequestContext::Current().looks_anew);
  }
  EXPECT_EQ(RequestContext::Current().cancellation, nullptr);
}

TEST(RequestContextTest, HasAMemoryOfLooksOfItsOwn) {
  const RequestContext::Scope outer(RequestContext{});
  RequestScope::Current()->Keep(1, "key", std::make_shared<const std::string>("found"));
  const RequestContext::Scope inner(RequestContext::Current());
  EXPECT_EQ(RequestScope::Current()->Find<std::string>(1, "key"), nullptr);
}

}  // namespace
}  // namespace ndlfs::backends
