// SPDX-License-Identifier: MIT
#include "model/spelling.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace ndlfs::model {
namespace {

TEST(NearestSpellingTest, FindsTheWordThatWasMeant) {
  constexpr std::array<std::string_view, 5> kWords = {"attributes", "dimcoords", "ndarrays",
                                                      "int8", "float32"};
  EXPECT_EQ(NearestSpelling("attribute", kWords), "attributes");
  EXPECT_EQ(NearestSpelling("Attributes", kWords), "attributes");
  EXPECT_EQ(NearestSpelling("ndarays", kWords), "ndarrays");
  EXPECT_EQ(NearestSpelling("ndarryas", kWords), "ndarrays");
  EXPECT_EQ(NearestSpelling("flaot32", kWords), "float32");
  EXPECT_EQ(NearestSpelling("dimensions", kWords), "");
  EXPECT_EQ(NearestSpelling("x", kWords), "");
  EXPECT_EQ(NearestSpelling("", kWords), "");
  EXPECT_EQ(NearestSpelling(std::string(1000, 'a'), kWords), "");
}

TEST(SpellingTest, LettersOfAsciiAloneHaveACase) {
  EXPECT_EQ(LowerCase("Days SINCE \xc3\x89[Z@"), "days since \xc3\x89[z@");
  EXPECT_TRUE(EqualsIgnoringCase("Content-Type", "content-tYPE"));
  EXPECT_FALSE(EqualsIgnoringCase("a", "ab"));
  EXPECT_FALSE(EqualsIgnoringCase("[", "{"));
}

}  // namespace
}  // namespace ndlfs::model
