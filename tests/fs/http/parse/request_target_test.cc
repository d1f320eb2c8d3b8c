// SPDX-License-Identifier: MIT
#include "fs/http/parse/request_target.h"

#include <gmock/gmock.h>

namespace ndlfs::fs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

RequestTarget Parse(std::string_view text, std::string_view base = "") {
  auto target = ParseRequestTarget(text, base);
  EXPECT_TRUE(target) << text;
  return target ? *target : RequestTarget();
}

std::string Refusal(std::string_view text, std::string_view base = "") {
  const auto target = ParseRequestTarget(text, base);
  return target ? "accepted" : target.error().message();
}

TEST(RequestTargetTest, PathHasNamesThatAreDecodedOnce) {
  const auto target = Parse("/a%20b/data%5Btime=0%5D.npy?x=%20");
  EXPECT_THAT(target.names, ElementsAre("a b", "data[time=0].npy"));
  EXPECT_EQ(target.query, "x=%20");
  EXPECT_FALSE(target.ends_in_slash);
  EXPECT_FALSE(target.host);
  EXPECT_THAT(Parse("/a%2520b").names, ElementsAre("a%20b"));
  EXPECT_THAT(Parse("/a+b/c%0Ad").names, ElementsAre("a+b", "c\nd"));
}

TEST(RequestTargetTest, SlashAtTheEndMeansADirectory) {
  EXPECT_TRUE(Parse("/").ends_in_slash);
  EXPECT_THAT(Parse("/").names, IsEmpty());
  EXPECT_TRUE(Parse("/a/b/").ends_in_slash);
  EXPECT_THAT(Parse("/a/b/").names, ElementsAre("a", "b"));
}

TEST(RequestTargetTest, WholeUrlHasAHost) {
  EXPECT_EQ(Parse("http://example.org:80/a").host, "example.org:80");
  EXPECT_THAT(Parse("http://example.org:80/a").names, ElementsAre("a"));
  EXPECT_THAT(Parse("https://example.org?x").names, IsEmpty());
  EXPECT_EQ(Parse("https://example.org?x").query, "x");
  EXPECT_THAT(Refusal("ftp://example.org/"), HasSubstr("is no path"));
  EXPECT_THAT(Refusal("http:///a"), HasSubstr("without a host"));
  EXPECT_THAT(Refusal("http://me@example.org/a"), HasSubstr("without a host"));
  EXPECT_THAT(Refusal("a/b"), HasSubstr("is no path"));
  EXPECT_THAT(Refusal("*"), HasSubstr("is no path"));
  EXPECT_THAT(Refusal(""), HasSubstr("is no path"));
}

TEST(RequestTargetTest, NamesThatNoFileHasAreRefused) {
  EXPECT_THAT(Refusal("/a/../b"), HasSubstr("\"..\""));
  EXPECT_THAT(Refusal("/a/%2e%2E"), HasSubstr("\"..\""));
  EXPECT_THAT(Refusal("/./a"), HasSubstr("\".\""));
  EXPECT_THAT(Refusal("/a%2fb"), HasSubstr("'/' in a name"));
  EXPECT_THAT(Refusal("/a%00b"), HasSubstr("NUL"));
  EXPECT_THAT(Refusal("//a"), HasSubstr("empty name"));
  EXPECT_THAT(Refusal("/a//"), HasSubstr("empty name"));
  EXPECT_THAT(Refusal("/a%2"), HasSubstr("'%'"));
  EXPECT_THAT(Refusal("/a%zz"), HasSubstr("'%'"));
  EXPECT_THAT(Refusal("/a#b"), HasSubstr("'#'"));
}

TEST(RequestTargetTest, BaseIsRemovedAndDemanded) {
  EXPECT_THAT(Parse("/data/a/b", "/data").names, ElementsAre("a", "b"));
  EXPECT_THAT(Parse("/data/", "/data").names, IsEmpty());
  EXPECT_THAT(Parse("/data", "/data").names, IsEmpty());
  EXPECT_THAT(Refusal("/database/a", "/data"), HasSubstr("not below /data"));
  EXPECT_THAT(Refusal("/a", "/data"), HasSubstr("not below /data"));
}

TEST(RequestTargetTest, ParametersAreFoundByTheirKey) {
  const auto target = Parse("/?format=json&token=a%20b&&x&token=c");
  EXPECT_EQ(target.Parameter("token"), "a b");
  EXPECT_EQ(target.Parameter("x"), "");
  EXPECT_EQ(target.Parameter("tok"), std::nullopt);
  EXPECT_EQ(target.QueryWithout("token"), "format=json&x");
}

}  // namespace
}  // namespace ndlfs::fs
