// SPDX-License-Identifier: MIT
#include "fs/http/parse/access.h"

#include <gmock/gmock.h>

namespace ndlfs::fs {
namespace {

constexpr std::string_view kToken = "0123456789abcdef";

TEST(TrustedHostTest, AddressesAndLocalhostAreTrusted) {
  for (const char* host : {"127.0.0.1", "127.0.0.1:8080", "localhost", "LOCALHOST:1", "[::1]",
                           "[::1]:8080", "10.0.0.7:80", " localhost "}) {
    EXPECT_TRUE(IsTrustedHost(host, {})) << host;
  }
}

TEST(TrustedHostTest, NamesAreNot) {
  for (const char* host :
       {"evil.org", "evil.org:8080", "localhost.evil.org", "127.0.0.1.evil.org", "", ":8080",
        "[::1", "[evil.org]", "127.1", "0x7f.1", "localhost:x", "127.0.0.1@evil.org"}) {
    EXPECT_FALSE(IsTrustedHost(host, {})) << host;
  }
  EXPECT_TRUE(IsTrustedHost("Data.Example.org:80", {"data.example.org"}));
  EXPECT_FALSE(IsTrustedHost("x.data.example.org", {"data.example.org"}));
}

TokenPlace FindIn(const Credentials& credentials, std::string query = "") {
  return FindToken({.query = std::move(query)}, credentials, kToken);
}

TEST(TokenTest, IsFoundInEachPlace) {
  const std::string token(kToken);
  EXPECT_EQ(FindIn({.authorization = "Bearer " + token}), TokenPlace::kField);
  EXPECT_EQ(FindIn({.authorization = "token  " + token}), TokenPlace::kField);
  // "anybody:0123456789abcdef"
  EXPECT_EQ(FindIn({.authorization = "basic YW55Ym9keTowMTIzNDU2Nzg5YWJjZGVm"}),
            TokenPlace::kField);
  EXPECT_EQ(FindIn({.cookie = "a=b; ndlfs-token=" + token + "; c"}), TokenPlace::kField);
  EXPECT_EQ(FindIn({}, "x=y&token=" + token), TokenPlace::kUrl);
}

TEST(TokenTest, OtherTextsAreNoToken) {
  const std::string token(kToken);
  for (const std::string& text :
       {std::string(), std::string("Bearer"), std::string("Bearer "), token,
        "Bearer " + token + "0", "Bearer " + token.substr(1), "Digest " + token,
        std::string("Basic ????"), std::string("Basic MDEyMzQ1Njc4OWFiY2RlZg==")}) {
    EXPECT_EQ(FindIn({.authorization = text}), TokenPlace::kNone) << text;
  }
  EXPECT_EQ(FindIn({.cookie = "ndlfs-token=x"}), TokenPlace::kNone);
  EXPECT_EQ(FindIn({.cookie = "other=" + token}), TokenPlace::kNone);
  EXPECT_EQ(FindIn({}, "token="), TokenPlace::kNone);
  EXPECT_EQ(FindIn({}, "xtoken=" + token), TokenPlace::kNone);
}

}  // namespace
}  // namespace ndlfs::fs
