// SPDX-License-Identifier: MIT
#include "backends/store/http/url.h"

#include <gtest/gtest.h>

#include "backends/base/percent_encoding.h"
#include "backends/store/http/http_message.h"
#include "tests/support/result.h"

namespace ndlfs::backends {
namespace {

Url Parsed(std::string_view text) { return ParseUrl(text).value(); }

TEST(UrlTest, HasParts) {
  const Url url = Parsed("HTTPS://me:p%3Aw@Example.ORG:8443/a/./b/../c%20d?x=1#part");
  EXPECT_EQ(url.scheme, "https");
  EXPECT_EQ(url.user, "me");
  EXPECT_EQ(url.password, "p:w");
  EXPECT_EQ(url.origin(), "https://example.org:8443");
  EXPECT_EQ(url.path, "/a/c%20d");
  EXPECT_EQ(url.ToText(), "https://example.org:8443/a/c%20d?x=1");
  EXPECT_EQ(url.ForMessages(), "https://example.org:8443/a/c%20d");
  EXPECT_EQ(Parsed("http://h:80").ToText(), "http://h/");
  EXPECT_EQ(Parsed("http://[::1]:81/x").origin(), "http://[::1]:81");
  EXPECT_EQ(Parsed("s3://bucket/a b").path, "/a%20b");
}

// As for the AWS tools.
TEST(UrlTest, KeysOfBucketsAreAsTheyAre) {
  for (const char* text : {"s3://bucket/sp%20ace.zarr", "s3://bucket/h#a?q&=.zarr/x",
                           "s3://My_Bucket/100% x", "s3://bucket/a@b:c", "s3://bucket/"}) {
    EXPECT_EQ(Parsed(text).ToText(), text);
    EXPECT_EQ(UrlForMessages(text), text);
  }
  for (const char* text : {"gs://bucket/a%20b#c?d", "az://data/100% x",
                           "abfs://data@acct.dfs.core.windows.net/a b", "abfss://data/x"}) {
    EXPECT_EQ(Parsed(text).ToText(), text);
    EXPECT_EQ(UrlForMessages(text), text);
  }
  for (const char* text : {"gs://me@bucket/x", "abfs://me:secret@host/x", "abfs://@host/x",
                           "abfs://a@b@host/x", "abfs://data@/x"}) {
    const auto url = ParseUrl(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().message().find("secret"), std::string::npos);
  }
  EXPECT_EQ(PercentDecode(Parsed("s3://bucket/a%20b").path), "/a%20b");
  EXPECT_EQ(Parsed("s3://bucket").ToText(), "s3://bucket/");
  for (const char* text : {"s3://", "s3:///x", "s3://me:secret@bucket/x", "s3://b%63/x"}) {
    const auto url = ParseUrl(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().message().find("secret"), std::string::npos);
  }
}

TEST(UrlTest, RefusesWhatIsNone) {
  for (const char* text : {"", "/data", "http://", "http://h:port/", "://h", "1a://h",
                           "http://h\n/", "http://[::1/", "h://%39"}) {
    EXPECT_FALSE(ParseUrl(text)) << text;
  }
}

// What is decoded twice may be "169.254.169.254" in the end.
TEST(UrlTest, HostsAreNotDecodedTwice) {
  EXPECT_EQ(Parsed("http://%68ost/").host, "host");
  EXPECT_EQ(Parsed("http://[fe80::1%25eth0]/").host, "[fe80::1]");
  for (const char* text :
       {"http://%2568ost/", "http://h%25/", "http://%2531%2536%2539.254.1.1/"}) {
    EXPECT_FALSE(ParseUrl(text)) << text;
    EXPECT_FALSE(ResolveUrl(Parsed("http://host/"), text)) << text;
  }
}

TEST(UrlTest, PrefixEndsAtAPart) {
  const Url prefix = Parsed("https://h/data");
  EXPECT_TRUE(IsWithin(Parsed("https://h/data"), prefix));
  EXPECT_TRUE(IsWithin(Parsed("https://h/data/x"), prefix));
  EXPECT_FALSE(IsWithin(Parsed("https://h/database"), prefix));
  EXPECT_FALSE(IsWithin(Parsed("https://h/data/../x"), prefix));
  EXPECT_FALSE(IsWithin(Parsed("https://h/data/%2e%2E/x"), prefix));
  EXPECT_FALSE(IsWithin(Parsed("http://h/data/x"), prefix));
  EXPECT_FALSE(IsWithin(Parsed("https://h:444/data/x"), prefix));
  EXPECT_FALSE(IsWithin(Parsed("https://h.evil/data/x"), prefix));
  EXPECT_TRUE(IsWithin(Parsed("https://h/x"), Parsed("https://h")));
}

TEST(UrlTest, EncodesAndDecodes) {
  EXPECT_EQ(PercentEncode("a/b c+%\xc3\xa9~"), "a/b%20c%2B%25%C3%A9~");
  EXPECT_EQ(PercentEncode("a/b", false), "a%2Fb");
  EXPECT_EQ(PercentDecode("b%20c%2b+"), "b c++");
  EXPECT_EQ(PercentDecode("%2"), std::nullopt);
  EXPECT_EQ(PercentDecode("%zz"), std::nullopt);
  EXPECT_EQ(PercentDecodeLeniently("b%20c%2b+ %2 %zz %"), "b c++ %2 %zz %");
}

TEST(UrlTest, KnowsLinkLocalAddresses) {
  for (const char* host : {"169.254.169.254", "[fe80::1]", "[febf::1]", "[::ffff:169.254.0.1]",
                           "0xa9fea9fe", "2852039166"}) {
    EXPECT_TRUE(IsLinkLocalHost(host)) << host;
  }
  for (const char* host :
       {"169.253.1.1", "[fec0::1]", "localhost", "169.254.evil", "127.0.0.1"}) {
    EXPECT_FALSE(IsLinkLocalHost(host)) << host;
  }
}

TEST(ContentRangeTest, IsParsed) {
  const auto range = ParseContentRange("bytes 5-9/100");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->range->offset, 5u);
  EXPECT_EQ(range->range->length, 5u);
  EXPECT_EQ(range->total_size, 100u);
  EXPECT_EQ(ParseContentRange("bytes */7")->total_size, 7u);
  for (const char* text : {"", "bytes", "bytes 1-2", "bytes 2-1/9", "bytes 1-9/9",
                           "bytes -1-2/9", "bytes 1-2/x", "bytes 0-18446744073709551615/*"}) {
    EXPECT_FALSE(ParseContentRange(text)) << text;
  }
}

TEST(HttpDateTest, IsParsed) {
  EXPECT_EQ(ParseHttpDate("Thu, 01 Jan 2026 00:00:00 GMT"), 1'767'225'600'000'000'000);
  EXPECT_EQ(ParseHttpDate("yesterday"), std::nullopt);
  EXPECT_EQ(ParseHttpDate(""), std::nullopt);
}

}  // namespace
}  // namespace ndlfs::backends
