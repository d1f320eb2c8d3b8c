// SPDX-License-Identifier: MIT
#include "fs/http/parse/conditions.h"

#include <gmock/gmock.h>

namespace ndlfs::fs {
namespace {

constexpr int64_t kTime = 784'111'777;  // Sun, 06 Nov 1994 08:49:37 GMT
const Validators kFile = {.etag = "\"a\"", .mtime_seconds = kTime};

TEST(HttpDateTest, HasTheFormsOfTheStandard) {
  EXPECT_EQ(FormatHttpDate(kTime), "Sun, 06 Nov 1994 08:49:37 GMT");
  for (const char* text : {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
                           "Sun Nov  6 08:49:37 1994"}) {
    EXPECT_EQ(ParseHttpDate(text), kTime) << text;
  }
  for (const char* text : {"", "yesterday", "Sun, 06 Nov 1994 08:49:37 GMT+1", "784111777"}) {
    EXPECT_EQ(ParseHttpDate(text), std::nullopt) << text;
  }
}

TEST(ConditionsTest, IfMatchComparesStrongly) {
  EXPECT_EQ(Evaluate({.if_match = "\"a\""}, kFile), Verdict::kSend);
  EXPECT_EQ(Evaluate({.if_match = "\"b\", \"a\""}, kFile), Verdict::kSend);
  EXPECT_EQ(Evaluate({.if_match = "*"}, kFile), Verdict::kSend);
  for (const char* field : {"\"b\"", "W/\"a\"", "", "a", "\"a", "\"b\" \"a\"", "\"a,b\""}) {
    EXPECT_EQ(Evaluate({.if_match = field}, kFile), Verdict::kFailed) << field;
  }
  EXPECT_EQ(Evaluate({.if_match = "\"a\""}, {.mtime_seconds = kTime}), Verdict::kFailed);
}

TEST(ConditionsTest, IfNoneMatchComparesWeakly) {
  for (const char* field : {"\"a\"", "W/\"a\"", "\"b\",,\"a\"", "*"}) {
    EXPECT_EQ(Evaluate({.if_none_match = field}, kFile), Verdict::kNotModified) << field;
  }
  EXPECT_EQ(Evaluate({.if_none_match = "\"b\""}, kFile), Verdict::kSend);
  EXPECT_EQ(Evaluate({.if_none_match = "nonsense"}, kFile), Verdict::kSend);
}

TEST(ConditionsTest, DatesCountWhereThereIsNoTag) {
  const Validators untagged = {.mtime_seconds = kTime};
  const std::string date = FormatHttpDate(kTime);
  EXPECT_EQ(Evaluate({.if_modified_since = date}, untagged), Verdict::kNotModified);
  EXPECT_EQ(Evaluate({.if_modified_since = FormatHttpDate(kTime - 1)}, untagged),
            Verdict::kSend);
  EXPECT_EQ(Evaluate({.if_modified_since = "nonsense"}, untagged), Verdict::kSend);
  EXPECT_EQ(Evaluate({.if_modified_since = date}, kFile), Verdict::kSend);
  EXPECT_EQ(Evaluate({.if_unmodified_since = date}, kFile), Verdict::kSend);
  EXPECT_EQ(Evaluate({.if_unmodified_since = FormatHttpDate(kTime - 1)}, kFile),
            Verdict::kFailed);
  EXPECT_EQ(Evaluate({.if_match = "\"a\"", .if_unmodified_since = FormatHttpDate(0)}, kFile),
            Verdict::kSend);
}

TEST(ConditionsTest, RangeCountsOnlyForTheSameTag) {
  EXPECT_TRUE(RangeCounts({}, kFile));
  EXPECT_TRUE(RangeCounts({.if_range = "\"a\""}, kFile));
  EXPECT_FALSE(RangeCounts({.if_range = "\"b\""}, kFile));
  EXPECT_FALSE(RangeCounts({.if_range = "W/\"a\""}, kFile));
  EXPECT_FALSE(RangeCounts({.if_range = FormatHttpDate(kTime)}, kFile));
  EXPECT_FALSE(RangeCounts({.if_range = "\"a\""}, {.mtime_seconds = kTime}));
}

}  // namespace
}  // namespace ndlfs::fs
