// SPDX-License-Identifier: MIT
#include "fs/cli/store/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/result.h"

namespace ndlfs::fs {
namespace {

using ::testing::HasSubstr;

const std::string kSomeDigest(64, 'a');

TEST(ManifestTest, ReadsWhatItWrites) {
  std::string text;
  const std::vector<std::string> names = {"/", "/t2m//attributes", "/two  blanks ",
                                          "/a\\b\nc\r"};
  for (const std::string& name : names) text += WriteManifestLine({name, kSomeDigest});
  const auto lines = ParseManifest(text);
  ASSERT_TRUE(lines);
  ASSERT_EQ(lines->size(), names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ((*lines)[i].name, names[i]);
    EXPECT_EQ((*lines)[i].digest, kSomeDigest);
  }
}

TEST(ManifestTest, EscapesAsSha256sumDoes) {
  EXPECT_EQ(WriteManifestLine({"/t2m", kSomeDigest}), kSomeDigest + "  /t2m\n");
  EXPECT_EQ(WriteManifestLine({"a\nb\\", kSomeDigest}), "\\" + kSomeDigest + "  a\\nb\\\\\n");
}

TEST(ManifestTest, RefusesOtherText) {
  const std::string good = kSomeDigest + "  /t2m\n";
  for (const std::string& bad :
       {std::string("\n"), std::string("/t2m\n"), kSomeDigest + "\n", kSomeDigest + "  \n",
        kSomeDigest + " /t2m\n", kSomeDigest.substr(1) + "  /t2m\n",
        "A" + kSomeDigest.substr(1) + "  /t2m\n", "\\" + kSomeDigest + "  a\\x\n",
        "\\" + kSomeDigest + "  a\\"}) {
    EXPECT_THAT(ParseManifest(good + bad),
                test::IsError(model::ErrorCode::kBadInput, HasSubstr("line 2: ")))
        << bad;
  }
}

}  // namespace
}  // namespace ndlfs::fs
