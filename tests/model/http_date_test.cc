// SPDX-License-Identifier: MIT
#include "model/http_date.h"

#include <gtest/gtest.h>

namespace ndlfs::model {
namespace {

constexpr int64_t kTime = 784'111'777;  // Sun, 06 Nov 1994 08:49:37 GMT

TEST(HttpDateTest, HasTheFormsOfTheStandard) {
  EXPECT_EQ(FormatHttpDate(kTime), "Sun, 06 Nov 1994 08:49:37 GMT");
  for (const char* text : {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
                           "Sun Nov  6 08:49:37 1994", " Sun, 6 Nov 1994 08:49:37 UTC\t",
                           "Sun, 06 Nov 1994 08:49:37 +0000", "Sun, 06 Nov 1994 08:49:37"}) {
    EXPECT_EQ(ParseHttpDate(text), kTime) << text;
  }
  for (const char* text : {"", "yesterday", "Sun, 06 Nov 1994 08:49:37 GMT+1", "784111777"}) {
    EXPECT_EQ(ParseHttpDate(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace ndlfs::model
