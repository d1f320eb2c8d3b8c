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
std::vector<std::string> Names(std::string_view type, std::string_view page,
                               std::string_view url = "") {
  const auto objects = ParseIndexPage(type, page, url);
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
              ElementsAre("a b.zarr/", "c&d", "x:y", "e:f"));
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
<a href="#top">x</a><a href="">x</a><a href="javascript:x">x</a>
<a href="good">x</a><a href="cut)"),
              ElementsAre("good"));
}

// Every way of writing a link names the same (RFC 3986, 5.2; WHATWG HTML, 13.1.2.3).
TEST(IndexPageTest, LinksAreResolvedAgainstThePage) {
  for (const char* link :
       {R"(<a href="x%20y/">)", R"(<a href="./x%20y/">)", R"(<a href="/d/e%20f/x%20y/">)",
        R"(<a href="http://host:81/d/e%20f/x%20y/">)", R"(<A  HREF = 'x%20y/' >)",
        R"(<a class=icon href=x%20y/>)", R"(<a href="//host/d/e%20f/x%20y/" title="x">)",
        R"(<a href="x y/">)", "<a\n href='x%20y/'>"}) {
    EXPECT_THAT(Names(kHtml, std::string("<title>Index of /d</title>") + link + "x</a>",
                      "http://host:81/d/e%20f/"),
                ElementsAre("x y/"))
        << link;
  }
}

TEST(IndexPageTest, LinksToOtherPlacesAreLeftOut) {
  EXPECT_THAT(Names(kHtml, R"(<title>Index of /d/</title><a href="/d/">x</a><a href="/">x</a>
<a href="/e/x">x</a><a href="/d/x/y">x</a><a href="http://other/d/x">x</a><a href="/d">x</a>
<a href="mailto:x@y">x</a><!-- <a href="hidden">x</a> --><script>"<a href='s'>"</script>
<a href="?C=N">x</a><a name="x">x</a>)",
                    "http://host/d/"),
              ElementsAre());
}

TEST(IndexPageTest, PercentThatBeginsNoByteIsOne) {
  EXPECT_THAT(Names(kHtml, R"(<title>Index of /</title><a href="Now 100% better.zarr/">x</a>
<a href="%zz">x</a><a href="a%2">x</a>)"),
              ElementsAre("Now 100% better.zarr/", "%zz", "a%2"));
}

TEST(IndexPageTest, ListsOfManyServersAreKnown) {
  const std::string links = R"(<a href="../">up</a><a href="x/">x</a>)";
  for (const char* head :
       {"<title>Index of /d/</title>", "<h1>Index of /d/</h1>", "<TITLE>index of /d/</TITLE>",
        "<title>Directory listing for /d/</title>",
        "<title>Directory Listing For [/d/]</title>", "<title>host - /d/</title>",
        "<title>/d/</title>", "<title>Files within d/</title>", "<h2>Directory: /d/</h2>",
        "<title>Listing of /d/</title>", "<p>no title</p>"}) {
    EXPECT_THAT(Names(kHtml, head + links, "http://host/d/"), ElementsAre("x/")) << head;
  }
}

TEST(IndexPageTest, APageThatLeadsElsewhereIsNoList) {
  EXPECT_THAT(Names(kHtml, R"(<title>Home</title><a href="../">up</a><a href="a">a</a>
<a href="/login">x</a><a href="/help">x</a><a href="http://other/">x</a>)",
                    "http://host/d/"),
              ElementsAre("none"));
  EXPECT_THAT(Names(kHtml, "<!doctype html><html><body>app</body></html>", "http://host/d/"),
              ElementsAre("none"));
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
