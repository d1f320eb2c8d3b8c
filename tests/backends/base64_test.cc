// SPDX-License-Identifier: MIT
#include "backends/base64.h"

#include <gtest/gtest.h>

#include <string>

#include "backends/bytes.h"

namespace ndlfs::backends {
namespace {

std::string Decode(std::string_view text) {
  const auto bytes = DecodeBase64(text);
  return bytes ? std::string(AsText(*bytes)) : "refused";
}

// RFC 4648, section 10.
TEST(Base64Test, DecodesThePublishedExamples) {
  EXPECT_EQ(Decode(""), "");
  EXPECT_EQ(Decode("Zg=="), "f");
  EXPECT_EQ(Decode("Zm8="), "fo");
  EXPECT_EQ(Decode("Zm9v"), "foo");
  EXPECT_EQ(Decode("Zm9vYg=="), "foob");
  EXPECT_EQ(Decode("Zm9vYmE="), "fooba");
  EXPECT_EQ(Decode("Zm9vYmFy"), "foobar");
}

TEST(Base64Test, DecodesAllDigitsAndHighBytes) {
  EXPECT_EQ(Decode("+/+/"), "\xfb\xff\xbf");
  EXPECT_EQ(Decode("AAECAwQ="), std::string("\0\1\2\3\4", 5));
}

TEST(Base64Test, PaddingMayBeLeftOut) { EXPECT_EQ(Decode("Zm8"), "fo"); }

TEST(Base64Test, RefusesOtherText) {
  for (const char* text : {"Z", "Zm9vY", "Zm9-", "Zm 9", "Z=m9", "===", "Zm9v====", "\n"}) {
    EXPECT_EQ(Decode(text), "refused") << text;
  }
}

}  // namespace
}  // namespace ndlfs::backends
