// SPDX-License-Identifier: MIT
#include "fs/http/parse/conditions.h"

#include <gmock/gmock.h>

#include "model/http_date.h"

namespace ndlfs::fs {
namespace {

constexpr int64_t kTime = 784'111'777;  // Sun, 06 Nov 1994 08:49:37 GMT
const Validators kFile = {.etag = "\"a\"", .mtime_seconds = kTime};

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
  const std::string date = model::FormatHttpDate(kTime);
  EXPECT_EQ(Evaluate({.if_modified_since = date}, untagged), Verdict::kNotModified);
  EXPECT_EQ(Evaluate({.if_modified_since = model::FormatHttpDate(kTime - 1)}, untagged),
            Verdict::kSend);
  EXPECT_EQ(Evaluate({.if_modified_since = "nonsense"}, untagged), Verdict::kSend);
  EXPECT_EQ(Evaluate({.if_modified_since = date}, kFile), Verdict::kSend);
  EXPECT_EQ(Evaluate({.if_unmodified_since = date}, kFile), Verdict::kSend);
  EXPECT_EQ(Evaluate({.if_unmodified_since = model::FormatHttpDate(kTime - 1)}, kFile),
            Verdict::kFailed);
  EXPECT_EQ(
      Evaluate({.if_match = "\"a\"", .if_unmodified_since = model::FormatHttpDate(0)}, kFile),
      Verdict::kSend);
}

TEST(ConditionsTest, RangeCountsOnlyForTheSameTag) {
  EXPECT_TRUE(RangeCounts({}, kFile));
  EXPECT_TRUE(RangeCounts({.if_range = "\"a\""}, kFile));
  EXPECT_FALSE(RangeCounts({.if_range = "\"b\""}, kFile));
  EXPECT_FALSE(RangeCounts({.if_range = "W/\"a\""}, kFile));
  EXPECT_FALSE(RangeCounts({.if_range = model::FormatHttpDate(kTime)}, kFile));
  EXPECT_FALSE(RangeCounts({.if_range = "\"a\""}, {.mtime_seconds = kTime}));
}

}  // namespace
}  // namespace ndlfs::fs
