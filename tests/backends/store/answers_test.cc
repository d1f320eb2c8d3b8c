// SPDX-License-Identifier: MIT
#include "backends/store/answers.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>

namespace ndlfs::backends {
namespace {

using std::chrono::seconds;

class AnswersTest : public ::testing::Test {
 protected:
  Answers<int> Make(std::optional<std::chrono::nanoseconds> lifetime, uint64_t capacity = 8) {
    return Answers<int>({lifetime, [this] { return now_; }}, capacity);
  }
  // Begins late enough for requests that look anew, which go by the real clock.
  Trust::Time now_ = std::chrono::steady_clock::now() + std::chrono::hours(1);
};

TEST_F(AnswersTest, AreTrustedForTheirTime) {
  auto answers = Make(seconds(2));
  answers.Put("a", 1, now_);
  now_ += seconds(1);
  ASSERT_TRUE(answers.Find("a"));
  EXPECT_EQ(answers.Find("a")->what, 1);
  EXPECT_EQ(answers.Find("a")->when, now_ - seconds(1));
  now_ += seconds(1);
  EXPECT_FALSE(answers.Find("a"));
  EXPECT_FALSE(answers.Find("b"));
}

TEST_F(AnswersTest, AreTrustedForEverWithoutATime) {
  auto answers = Make(std::nullopt);
  answers.Put("a", 1, now_);
  now_ += std::chrono::hours(1000);
  EXPECT_TRUE(answers.Find("a"));
}

TEST_F(AnswersTest, AreNotKeptWithoutTrust) {
  auto answers = Make(seconds(0));
  answers.Put("a", 1, now_);
  EXPECT_FALSE(answers.Find("a"));
}

TEST_F(AnswersTest, ALateAnswerDoesNotReplaceOneToALaterQuestion) {
  auto answers = Make(seconds(10));
  answers.Put("a", 2, now_);
  answers.Put("a", 1, now_ - seconds(1));
  EXPECT_EQ(answers.Find("a")->what, 2);
  answers.Put("a", 3, now_ + seconds(1));
  EXPECT_EQ(answers.Find("a")->what, 3);
}

TEST_F(AnswersTest, AreForgottenButNotThoseThatComeLater) {
  auto answers = Make(std::nullopt);
  answers.Put("a", 1, now_);
  now_ += seconds(1);
  answers.ForgetAll();
  EXPECT_FALSE(answers.Find("a"));
  answers.Put("b", 1, now_ - seconds(1));
  EXPECT_FALSE(answers.Find("b"));
  answers.Put("a", 2, now_);
  EXPECT_TRUE(answers.Find("a"));
}

TEST_F(AnswersTest, ARequestThatLooksAnewUsesNoneFromBefore) {
  now_ = std::chrono::steady_clock::now() - seconds(1);
  auto answers = Make(std::nullopt);
  answers.Put("a", 1, now_);
  const RequestScope scope;
  EXPECT_TRUE(answers.Find("a"));
  RequestScope::ForgetAll();
  EXPECT_FALSE(answers.Find("a"));
  answers.Put("a", 2, std::chrono::steady_clock::now() + seconds(1));
  EXPECT_TRUE(answers.Find("a"));
}

TEST_F(AnswersTest, AreBounded) {
  auto answers = Make(std::nullopt, 2);
  for (const char* key : {"a", "b", "c"}) answers.Put(key, 1, now_);
  EXPECT_FALSE(answers.Find("a"));
  EXPECT_TRUE(answers.Find("b"));
  EXPECT_TRUE(answers.Find("c"));
}

}  // namespace
}  // namespace ndlfs::backends
