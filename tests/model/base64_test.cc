// SPDX-License-Identifier: MIT
#include "model/base64.h"

#include <gtest/gtest.h>

#include <string>

namespace ndlfs::model {
namespace {

std::string Decode(std::string_view text) {
  const auto bytes = DecodeBase64(text);
  return bytes ? std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size())
               : "refused";
}

struct Example {
  const char* text;
  const char* encoded;
};

// RFC 4648, section 10.
constexpr Example kPublished[] = {{"", ""},
                                  {"f", "Zg=="},
                                  {"fo", "Zm8="},
                                  {"foo", "Zm9v"},
                                  {"foob", "Zm9vYg=="},
                                  {"fooba", "Zm9vYmE="},
                                  {"foobar", "Zm9vYmFy"}};

TEST(Base64Test, EncodesThePublishedExamples) {
  for (const auto& [text, encoded] : kPublished) {
    EXPECT_EQ(EncodeBase64(std::as_bytes(std::span(std::string_view(text)))), encoded);
  }
}

TEST(Base64Test, DecodesThePublishedExamples) {
  for (const auto& [text, encoded] : kPublished) EXPECT_EQ(Decode(encoded), text);
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
}  // namespace ndlfs::model
