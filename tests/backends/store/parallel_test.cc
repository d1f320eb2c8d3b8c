// SPDX-License-Identifier: MIT
#include "backends/store/parallel.h"

#include <gmock/gmock.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "backends/store/request_context.h"
#include "tests/support/result.h"

namespace ndlfs::backends {
namespace {

using model::ErrorCode;
using model::Result;
using ndlfs::test::IsError;
using ndlfs::test::IsOk;

TEST(RunInParallelTest, DoesEachNumberOnce) {
  for (const unsigned threads : {0U, 1U, 4U}) {
    std::vector<std::atomic<int>> done(1'000);
    EXPECT_THAT(RunInParallel(threads, done.size(),
                              [&](size_t i) -> Result<void> {
                                ++done[i];
                                return {};
                              }),
                IsOk());
    for (const auto& times : done) EXPECT_EQ(times, 1);
  }
}

TEST(RunInParallelTest, GivesTheErrorOfTheLowestNumber) {
  const auto done = RunInParallel(4, 1'000, [](size_t i) -> Result<void> {
    if (i % 7 == 5) return model::BadInput("number {}", i);
    return {};
  });
  EXPECT_THAT(done, IsError(ErrorCode::kBadInput, "number 5"));
}

TEST(RunInParallelTest, ExceptionsAreErrors) {
  const auto done = RunInParallel(
      4, 100, [](size_t) -> Result<void> { throw std::runtime_error("no memory"); });
  EXPECT_THAT(done, IsError(ErrorCode::kInternal, "no memory"));
}

TEST(RunInParallelTest, WorksForTheCallerAndTheRequestOfThisThread) {
  const CallerPtr caller = FindCaller(1000, 1000, {});
  const auto request = std::make_shared<const Cancellation>();
  const RequestContext::Scope scope({caller, request, /*looks_anew=*/true});
  std::atomic<int> others{0};
  EXPECT_THAT(RunInParallel(4, 1'000,
                            [&](size_t) -> Result<void> {
                              const auto context = RequestContext::Current();
                              const bool is_same = context.caller == caller &&
                                                   context.cancellation == request &&
                                                   context.looks_anew;
                              if (!is_same) ++others;
                              return {};
                            }),
              IsOk());
  EXPECT_EQ(others, 0);
}

}  // namespace
}  // namespace ndlfs::backends
