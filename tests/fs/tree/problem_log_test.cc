// SPDX-License-Identifier: MIT
#include "fs/tree/problem_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ndlfs::fs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class ProblemLogTest : public ::testing::Test {
 protected:
  void Pass(std::chrono::seconds time) { now_ += time; }
  size_t LinesInRing() const {
    const std::string text = log_.Text();
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  std::chrono::system_clock::time_point now_{std::chrono::hours(24 * 365 * 50)};
  std::vector<std::string> sink_;
  ProblemLog log_{[this](std::string_view line) { sink_.emplace_back(line); },
                  [this] { return now_; }};
};

TEST_F(ProblemLogTest, TellsAProblemWithItsTime) {
  log_.Report("a.zarr/t2m: chunk 0.1: blosc: corrupt");
  EXPECT_EQ(log_.Text(), "2019-12-20T00:00:00Z a.zarr/t2m: chunk 0.1: blosc: corrupt\n");
  EXPECT_THAT(sink_, ElementsAre("a.zarr/t2m: chunk 0.1: blosc: corrupt"));
}

TEST_F(ProblemLogTest, TellsTheSameProblemOnceAnHour) {
  for (int i = 0; i < 1000; ++i) log_.Report("same");
  EXPECT_THAT(sink_, SizeIs(1));
  EXPECT_EQ(log_.reported(), 1000u);
  Pass(std::chrono::minutes(59));
  log_.Report("same");
  EXPECT_THAT(sink_, SizeIs(1));
  Pass(std::chrono::minutes(1));
  log_.Report("same");
  EXPECT_THAT(sink_, SizeIs(2));
}

TEST_F(ProblemLogTest, HoldsBackAFloodOfDifferentProblemsAndSaysSo) {
  for (int i = 0; i < 500; ++i) log_.Report("problem " + std::to_string(i));
  EXPECT_THAT(sink_, SizeIs(100));
  EXPECT_EQ(LinesInRing(), 500u) << "the ring has them all";
  Pass(std::chrono::minutes(1));
  log_.Report("one more");
  EXPECT_THAT(sink_, SizeIs(102));
  EXPECT_EQ(sink_[100], "400 more problems; see .ndlfs/errors.log");
}

TEST_F(ProblemLogTest, LosesTheOlderHalfWhereThereAreTooMany) {
  for (int i = 0; i < 2000; ++i) log_.Report("problem " + std::to_string(i) + ".");
  EXPECT_EQ(LinesInRing(), 2000u);
  log_.Report("one more.");
  EXPECT_EQ(LinesInRing(), 1001u);
  EXPECT_THAT(log_.Text(), HasSubstr("problem 1000."));
  EXPECT_THAT(log_.Text(), Not(HasSubstr("problem 999.")));
  EXPECT_THAT(log_.Text(), HasSubstr("one more."));
}

TEST_F(ProblemLogTest, TellsACallerOnlyWhatItsRequestsHaveMet) {
  const auto ann = backends::FindCaller(1001, 100, {});
  const auto bob = backends::FindCaller(1002, 100, {});
  const auto report = [&](const backends::CallerPtr& caller, const char* line) {
    const backends::CallerScope scope(caller);
    log_.Report(line);
  };
  const auto lines_of = [&](const backends::CallerPtr& caller) {
    const backends::CallerScope scope(caller);
    return LinesInRing();
  };
  report(ann, "ann.zarr: corrupt");
  report(ann, "shared.zarr: corrupt");
  report(bob, "shared.zarr: corrupt");
  report(bob, "shared.zarr: corrupt");
  log_.Report("mine.zarr: corrupt");
  EXPECT_EQ(lines_of(ann), 2u);
  EXPECT_EQ(lines_of(bob), 1u);
  EXPECT_EQ(lines_of(backends::FindCaller(1001, 200, {})), 0u);
  EXPECT_EQ(lines_of(backends::SelfAsCaller()), 3u) << "each once";
  EXPECT_EQ(LinesInRing(), 3u);
  EXPECT_THAT(sink_, SizeIs(3));
}

TEST_F(ProblemLogTest, KeepsALineOnALineAndBounded) {
  log_.Report("name with\nnewline" + std::string(100'000, 'x'));
  EXPECT_EQ(LinesInRing(), 1u);
  EXPECT_LT(log_.Text().size(), 10'000u);
  EXPECT_THAT(log_.Text(), HasSubstr("name with\\x0anewline"));
}

}  // namespace
}  // namespace ndlfs::fs
