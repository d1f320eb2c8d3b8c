// SPDX-License-Identifier: MIT
#include "model/secret_hash.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace ndlfs::model {
namespace {

TEST(SecretHashTest, TextsOfAllLengthsDiffer) {
  std::set<uint64_t> hashes;
  std::string text;
  for (int i = 0; i < 100; ++i) {
    hashes.insert(SecretHash(text));
    hashes.insert(SecretHash(text + 'x'));
    hashes.insert(SecretHash(1, text));
    hashes.insert(SecretHash(2, text));
    text += '\0';
  }
  EXPECT_EQ(hashes.size(), 400u);
}

TEST(SecretHashTest, TheSameTextHasTheSameHash) {
  EXPECT_EQ(SecretHash("temperature"), SecretHash(std::string("temperature")));
  EXPECT_EQ(SecretHash(7, "a"), SecretHash(7, "a"));
}

}  // namespace
}  // namespace ndlfs::model
