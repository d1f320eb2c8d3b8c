// SPDX-License-Identifier: MIT
#include "backends/store/answer_age.h"

#include <gtest/gtest.h>

#include <chrono>

#include "backends/store/answers.h"
#include "backends/store/parallel.h"

namespace ndlfs::backends {
namespace {

using std::chrono::seconds;

AnswerAge::Time At(int second) { return AnswerAge::Time(seconds(second)); }

TEST(AnswerAgeTest, IsThatOfTheOldestAnswer) {
  AnswerAge::Note(At(1));  // nobody asks
  const AnswerAge age(At(10));
  EXPECT_EQ(age.since(), At(10));
  AnswerAge::Note(At(12));
  EXPECT_EQ(age.since(), At(10)) << "something else may have been found when it began";
  AnswerAge::Note(At(8));
  AnswerAge::Note(At(9));
  EXPECT_EQ(age.since(), At(8));
}

TEST(AnswerAgeTest, AnswersCountForTheOuterAge) {
  const AnswerAge outer(At(10));
  AnswerAge::Note(At(7));
  {
    const AnswerAge inner(At(5));
    EXPECT_EQ(inner.since(), At(5)) << "what was noted before is not its";
    AnswerAge::Note(At(6));
    EXPECT_EQ(inner.since(), At(5));
  }
  EXPECT_EQ(outer.since(), At(6)) << "the begin of another clock does not count";
}

TEST(AnswerAgeTest, AnswersOfHelpersCount) {
  const AnswerAge age(At(1000));
  const auto done = RunInParallel(4, 100, [](size_t i) -> model::Result<void> {
    AnswerAge::Note(At(100 + static_cast<int>(i)));
    return {};
  });
  EXPECT_TRUE(done);
  EXPECT_EQ(age.since(), At(100));
}

TEST(AnswerAgeTest, MemoryTellsTheAgeOfItsAnswers) {
  const auto now = [] { return At(20); };
  Answers<int> answers({.lifetime = seconds(10), .clock = now}, 100);
  answers.Put("kept", 1, At(15));
  answers.Put("old", 1, At(5));
  const AnswerAge age(At(20));
  EXPECT_FALSE(answers.Find("none"));
  EXPECT_FALSE(answers.Find("old"));
  EXPECT_EQ(age.since(), At(20));
  EXPECT_TRUE(answers.Find("kept"));
  EXPECT_EQ(age.since(), At(15));
}

TEST(AnswerAgeTest, DoesNotMatterWhereAnswersAreTrustedForEver) {
  Answers<int> answers({.lifetime = std::nullopt}, 100);
  answers.Put("kept", 1, At(15));
  const AnswerAge age(At(20));
  EXPECT_TRUE(answers.Find("kept"));
  EXPECT_EQ(age.since(), At(20));
}

}  // namespace
}  // namespace ndlfs::backends
