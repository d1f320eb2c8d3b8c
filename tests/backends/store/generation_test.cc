// SPDX-License-Identifier: MIT
#include "backends/store/generation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace ndlfs::backends {
namespace {

using ::testing::Eq;
using ::testing::Optional;

std::vector<Generation> Different() {
  return {Generation(),
          Generation::OfNumbers({1, 2, 3, 4, 5}),
          Generation::OfNumbers({1, 2, 3, 5, 4}),
          Generation::OfNumbers({0x12, 3, 4, 5, 6}),
          Generation::OfNumbers({0x1, 0x23, 4, 5, 6}),
          Generation::OfNumbers({UINT64_MAX, 0, 0, 0, 1}),
          Generation::OfTag(""),
          Generation::OfTag("\"3f-2\""),
          Generation::OfTag("n1.2.3.4.5")};
}

TEST(GenerationTest, DifferentOnesHaveDifferentHashesAndTexts) {
  std::set<uint64_t> hashes;
  std::set<std::string> texts;
  for (const Generation& generation : Different()) {
    EXPECT_EQ(generation, Generation(generation));
    hashes.insert(generation.hash());
    texts.insert(generation.ToText());
  }
  EXPECT_EQ(hashes.size(), Different().size());
  EXPECT_EQ(texts.size(), Different().size());
}

TEST(GenerationTest, TheSeedMakesOtherHashes) {
  for (const Generation& generation : Different()) {
    EXPECT_NE(generation.hash(1), generation.hash(2));
  }
}

TEST(GenerationTest, ComesBackFromItsText) {
  for (const Generation& generation : Different()) {
    EXPECT_THAT(Generation::FromText(generation.ToText()), Optional(generation));
  }
}

TEST(GenerationTest, OtherTextsAreRefused) {
  for (const char* text :
       {"", "x", "n", "n1", "n1.2.3.4", "n1.2.3.4.5.6", "n1.2.3.4.5 ", "n1.2..4.5", "n1.2.3.4.",
        "n1,2,3,4,5", "n1.2.3.4.g", "n1.2.3.4.12345678901234567", "n-1.2.3.4.5"}) {
    EXPECT_THAT(Generation::FromText(text), Eq(std::nullopt)) << text;
  }
}

}  // namespace
}  // namespace ndlfs::backends
