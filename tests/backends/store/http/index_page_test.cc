// SPDX-License-Identifier: MIT
#include "backends/store/http/index_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ndlfs::backends {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kHtml = "text/html;charset=utf-8";

// "name" or "name/"; "none" if it is no index.
std::vector<std::string> Names(std::string_view type, std::string_view page) {
  const auto objects = ParseIndexPage(type, page);
  if (!objects) return {"none"};
  std::vector<std::string> names;
  for (const auto& object : *objects)
    names.push_back(object.name + (object.is_directory() ? "/" : ""));
  return names;
}

TEST(IndexPageTest, ReadsJsonOfNginx) {
  EXPECT_THAT(Names(kJson, R"([
{ "name":"a b", "type":"directory", "mtime":"Wed, 30 Sep 2026 12:00:00 GMT" },
{ "name":"c\u00e9", "type":"file", "mtime":"Wed, 30 Sep 2026 12:00:00 GMT", "size":12 },
{ "name":"socket", "type":"other", "mtime":"Wed, 30 Sep 2026 12:00:00 GMT" }
])"),
              ElementsAre("a b/", "c\xc3\xa9"));
  EXPECT_THAT(Names(kJson, "[]"), ElementsAre());
}

TEST(IndexPageTest, OtherJsonIsNoIndex) {
  for (const char* page :
       {"", "{}", "1", "null", "[1]", "[\"a\"]", "[[]]", "[{\"name\":\"a\"}]",
        R"([{"name":"a","type":"file"})", R"({"name":"a","type":"file"})",
        R"([{"name":"a","type":"file","x":{"name":"b","type":"file"}}])"}) {
    EXPECT_THAT(Names(kJson, page), ElementsAre("none")) << page;
  }
}

TEST(IndexPageTest, ReadsHtmlOfNginx) {
  EXPECT_THAT(Names(kHtml, R"(<html><head><title>Index of /data/</title></head><body>
<h1>Index of /data/</h1><hr><pre><a href="../">../</a>
<a href="a%20b.zarr/">a b.zarr/</a>   30-Sep-2026 12:00   -
<a href="c%26d">c&amp;d</a>   30-Sep-2026 12:00   12
<a href="./x:y">x:y</a> <a href="e%3Af">e:f</a></pre></body></html>)"),
              ElementsAre("a b.zarr/", "c&d", "e:f"));
}

TEST(IndexPageTest, ReadsHtmlOfApache) {
  EXPECT_THAT(Names(kHtml, R"(<html><head><title>Index of /data</title></head><body>
<a href="?C=N;O=D">Name</a> <a href="/">Parent Directory</a>
<img src="/icons/folder.gif"> <a href="x/">x/</a> <a href="y.nc">y.nc</a></body></html>)"),
              ElementsAre("x/", "y.nc"));
}

TEST(IndexPageTest, OtherPagesAreNoIndex) {
  EXPECT_THAT(Names(kHtml, "<html><title>Home</title><a href=\"a\">a</a>"),
              ElementsAre("none"));
  EXPECT_THAT(Names("text/plain", "[]"), ElementsAre("none"));
}

TEST(IndexPageTest, LinksThatLeadElsewhereAreLeftOut) {
  EXPECT_THAT(Names(kHtml, R"(<title>Index of /</title>
<a href="..">x</a><a href="%2e%2e">x</a><a href="../up">x</a><a href="/etc/passwd">x</a>
<a href="http://other/x">x</a><a href="//other/x">x</a><a href="a%2Fb">x</a><a href="a%00b">x</a>
<a href="%zz">x</a><a href="#top">x</a><a href="">x</a><a href="javascript:x">x</a>
<a href="good">x</a><a href="cut)"),
              ElementsAre("good"));
}

TEST(ObjectServiceTest, SoundNames) {
  EXPECT_TRUE(IsSoundName(".zarray"));
  for (const std::string& name : {std::string(), std::string("."), std::string(".."),
                                  std::string("a/b"), std::string("a\0b", 3)}) {
    EXPECT_FALSE(IsSoundName(name)) << name;
  }
}

}  // namespace
}  // namespace ndlfs::backends
