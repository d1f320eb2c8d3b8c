// SPDX-License-Identifier: MIT
#include "fs/http/parse/access.h"

#include <gmock/gmock.h>

namespace ndlfs::fs {
namespace {

constexpr std::string_view kToken = "0123456789abcdef";

const Secret kSecret = {std::string(kToken), "ndlfs-1", "cookie"};

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
  return FindToken({.query = std::move(query)}, credentials, kSecret);
}

TEST(TokenTest, IsFoundInEachPlace) {
  const std::string token(kToken);
  EXPECT_EQ(FindIn({.authorization = "Bearer " + token}), TokenPlace::kField);
  EXPECT_EQ(FindIn({.authorization = "token  " + token}), TokenPlace::kField);
  // "anybody:0123456789abcdef"
  EXPECT_EQ(FindIn({.authorization = "basic YW55Ym9keTowMTIzNDU2Nzg5YWJjZGVm"}),
            TokenPlace::kField);
  // "0123456789abcdef:", as programs send http://0123456789abcdef@host/
  EXPECT_EQ(FindIn({.authorization = "Basic MDEyMzQ1Njc4OWFiY2RlZjo="}), TokenPlace::kField);
  EXPECT_EQ(FindIn({.cookie = "a=b; ndlfs-1=cookie; c"}), TokenPlace::kCookie);
  EXPECT_EQ(FindIn({.cookie = "__Host-ndlfs-1=cookie"}), TokenPlace::kCookie);
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
  EXPECT_EQ(FindIn({.cookie = "ndlfs-1=x"}), TokenPlace::kNone);
  EXPECT_EQ(FindIn({.cookie = "ndlfs-1=" + token}), TokenPlace::kNone);
  EXPECT_EQ(FindIn({.cookie = "other=cookie"}), TokenPlace::kNone);
  EXPECT_EQ(FindIn({}, "token="), TokenPlace::kNone);
  EXPECT_EQ(FindIn({}, "xtoken=" + token), TokenPlace::kNone);
}

TEST(TokenTest, FirstPartOfThePathIsTaken) {
  auto target = *ParseRequestTarget("/0123456789abcdef/a/b?c");
  EXPECT_TRUE(TakeTokenOfPath(target, kToken));
  EXPECT_THAT(target.names, testing::ElementsAre("a", "b"));
  for (const char* other :
       {"/", "/a/0123456789abcdef", "/0123456789abcdeF/", "/0123456789abcdef0"}) {
    target = *ParseRequestTarget(other);
    EXPECT_FALSE(TakeTokenOfPath(target, kToken)) << other;
  }
  target = *ParseRequestTarget("/a");
  EXPECT_FALSE(TakeTokenOfPath(target, ""));
}

TEST(OriginTest, IsThatOfItsHostAndPort) {
  EXPECT_TRUE(IsOriginOf("http://localhost:8080", "LOCALHOST:8080"));
  for (const char* origin :
       {"null", "", "http://localhost", "http://localhost:8081", "http://"}) {
    EXPECT_FALSE(IsOriginOf(origin, "localhost:8080")) << origin;
  }
}

}  // namespace
}  // namespace ndlfs::fs
