// SPDX-License-Identifier: MIT
#include "model/number_text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace ndlfs::model {
namespace {

TEST(NumberTextTest, ParsesAllOfAText) {
  EXPECT_EQ(ParseNumber<uint64_t>("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(ParseNumber<int8_t>("-128"), -128);
  EXPECT_EQ(ParseNumber<uint32_t>("ff", 16), 255u);
  EXPECT_EQ(ParseNumber<double>("-1.5e3"), -1500.0);
  for (const std::string_view text : {"", " 1", "1 ", "+1", "-1", "0x1", "256", "1.0"}) {
    EXPECT_EQ(ParseNumber<uint8_t>(text), std::nullopt) << text;
  }
  for (const std::string_view text : {"", "1,5", "1e999", "0x1p3"}) {
    EXPECT_EQ(ParseNumber<double>(text), std::nullopt) << text;
  }
}

TEST(NumberTextTest, TakesTheFrontOfAText) {
  std::string_view text = "012.5x";
  EXPECT_EQ(TakeNumber<uint64_t>(text), 12u);
  EXPECT_EQ(text, ".5x");
  EXPECT_EQ(TakeNumber<uint64_t>(text), std::nullopt);
  EXPECT_EQ(text, ".5x");
  EXPECT_EQ(TakeNumber<double>(text), 0.5);
  EXPECT_EQ(text, "x");
}

}  // namespace
}  // namespace ndlfs::model
