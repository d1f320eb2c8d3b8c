// SPDX-License-Identifier: MIT
#include "backends/store/object/bucket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/result.h"

namespace ndlfs::backends::object {
namespace {

using model::ErrorCode;

TEST(LocationTest, BucketAndPrefix) {
  EXPECT_EQ(ParseLocation("s3://b.u-c/a/b", "s3")->bucket, "b.u-c");
  EXPECT_EQ(ParseLocation("s3://b.u-c/a/b/", "s3")->prefix, "a/b");
  EXPECT_EQ(ParseLocation("s3://buc", "s3")->prefix, "");
  EXPECT_EQ(ParseLocation("s3://buc/", "s3")->prefix, "");
  for (const char* text :
       {"s3://", "s3:///a", "s3://a b/c", "s3://user@bucket/x", "s3://x/../y",
        "s3://bucket/a//b", "s3://bucket/../b", "http://bucket/a"}) {
    EXPECT_THAT(ParseLocation(text, "s3"), test::IsError(ErrorCode::kBadInput, testing::_))
        << text;
  }
}

}  // namespace
}  // namespace ndlfs::backends::object
