// SPDX-License-Identifier: MIT
#include "fs/http/site.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "backends/store/http/index_page.h"
#include "fs/http/listing.h"

namespace ndlfs::fs {
namespace {

using testing::HasSubstr;
using testing::Not;
using Method = HttpRequest::Method;

constexpr int64_t kSecond = 1'000'000'000;
constexpr Attributes kOfFile = {.mode = S_IFREG | 0444, .mtime_ns = 7 * kSecond};
constexpr Attributes kOfFolder = {.mode = S_IFDIR | 0555, .mtime_ns = 7 * kSecond};

class Folder final : public DirectoryNode {
 public:
  // `tells_types`: else only a look tells what an entry is.
  explicit Folder(std::map<std::string, TreeNodePtr> nodes, bool tells_types = true)
      : nodes_(std::move(nodes)), tells_types_(tells_types) {}

  model::Result<Attributes> Stat() const override { return kOfFolder; }
  model::Result<TreeNodePtr> Lookup(std::string_view name) const override {
    const auto found = nodes_.find(std::string(name));
    if (found == nodes_.end()) return model::NotFound("{}", name);
    return found->second;
  }
  model::Result<std::unique_ptr<DirectoryReader>> OpenDirectory() const override {
    ++listings;
    std::vector<DirectoryEntry> entries;
    for (const auto& [name, node] : nodes_) {
      entries.push_back({name, tells_types_ ? node->Stat()->mode & S_IFMT : 0});
    }
    return MakeListReader(std::move(entries));
  }
  mutable int listings = 0;

 private:
  const std::map<std::string, TreeNodePtr> nodes_;
  const bool tells_types_;
};

TreeNodePtr Text(std::string text) { return MakeTextNode(std::move(text), kOfFile); }

TreeNodePtr Tree() {
  const auto inner = std::make_shared<Folder>(
      std::map<std::string, TreeNodePtr>{{"data.npy", Text("0123456789")},
                                         {"up.txt", MakeSymlinkNode("../top.txt", kOfFile)},
                                         {"out.txt", MakeSymlinkNode("/etc/passwd", kOfFile)},
                                         {"loop", MakeSymlinkNode("loop", kOfFile)}});
  return std::make_shared<Folder>(std::map<std::string, TreeNodePtr>{
      {"top.txt", Text("top")},
      {"a b: \"ü\"&", inner},
      {"inner", inner},
      {"climb", MakeSymlinkNode("../../../inner/data.npy", kOfFile)},
      {"round", MakeSymlinkNode(".", kOfFile)}});
}

HttpRequest Get(std::string_view target, Method method = Method::kGet) {
  return {.method = method, .target = *ParseRequestTarget(target)};
}

HttpReply AnswerOf(const Site& site, const HttpRequest& request) {
  std::optional<FoundNode> found;
  auto answer = site.Answer(request, Lane::kLook, found);
  if (const Lane* lane = std::get_if<Lane>(&answer))
    answer = site.Answer(request, *lane, found);
  auto reply = std::get<HttpReply>(std::move(answer));
  site.Complete(request, reply);
  return reply;
}

class SiteTest : public testing::Test {
 protected:
  HttpReply Answer(const HttpRequest& request) { return AnswerOf(site_, request); }

  Site site_{Tree(), {}, {}};
};

std::string Field(const HttpReply& reply, std::string_view name) {
  for (const auto& [known, value] : reply.fields) {
    if (known == name) return value;
  }
  return "none";
}

TEST_F(SiteTest, FileHasItsLengthAndValidators) {
  const auto reply = Answer(Get("/inner/data.npy"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.length, 10);
  EXPECT_EQ(Field(reply, "Content-Type"), "application/octet-stream");
  EXPECT_EQ(Field(reply, "Accept-Ranges"), "bytes");
  EXPECT_EQ(Field(reply, "Last-Modified"), "Thu, 01 Jan 1970 00:00:07 GMT");
  EXPECT_THAT(Field(reply, "ETag"), testing::MatchesRegex("\"[0-9a-f-]+\""));
}

TEST_F(SiteTest, OneRangeAndSeveral) {
  auto request = Get("/inner/data.npy");
  request.range = "bytes=2-4";
  auto reply = Answer(request);
  EXPECT_EQ(reply.status, 206);
  EXPECT_EQ(Field(reply, "Content-Range"), "bytes 2-4/10");
  EXPECT_EQ(reply.length, 3);
  request.range = "bytes=0-0,9-";
  reply = Answer(request);
  EXPECT_EQ(reply.status, 206);
  EXPECT_THAT(Field(reply, "Content-Type"), HasSubstr("multipart/byteranges; boundary="));
  uint64_t length = 0;
  for (const BodyPart& part : reply.parts) length += part.text.size() + part.range.length;
  EXPECT_EQ(reply.length, length);
  EXPECT_THAT(reply.parts[1].text, HasSubstr("Content-Range: bytes 9-9/10\r\n\r\n"));
  request.range = "bytes=10-";
  reply = Answer(request);
  EXPECT_EQ(reply.status, 416);
  EXPECT_EQ(Field(reply, "Content-Range"), "bytes */10");
  EXPECT_EQ(reply.file, nullptr);
}

TEST_F(SiteTest, Conditions) {
  const std::string etag = Field(Answer(Get("/inner/data.npy")), "ETag");
  auto request = Get("/inner/data.npy");
  request.conditions.if_none_match = etag;
  EXPECT_EQ(Answer(request).status, 304);
  EXPECT_EQ(Field(Answer(request), "ETag"), etag);
  request.conditions = {.if_match = "\"other\""};
  EXPECT_EQ(Answer(request).status, 412);
  request.conditions = {.if_range = "\"other\""};
  request.range = "bytes=0-0";
  EXPECT_EQ(Answer(request).status, 200);
  request.conditions = {.if_range = etag};
  EXPECT_EQ(Answer(request).status, 206);
}

TEST_F(SiteTest, LinksAreFollowedInTheTreeOnly) {
  EXPECT_EQ(Answer(Get("/inner/out.txt")).status, 404);
  EXPECT_EQ(Answer(Get("/inner/loop")).status, 404);
  EXPECT_EQ(Answer(Get("/round/round/inner/loop/x")).status, 404);
}

TEST_F(SiteTest, LinksAreRedirectsToWhatTheyLeadTo) {
  for (const auto& [link, place] : std::map<std::string, std::string>{
           {"/inner/up.txt", "../top.txt"},
           {"/inner/up.txt?a=b", "../top.txt?a=b"},
           {"/climb", "./inner/data.npy"},
           {"/round", "./"},
           {"/round/", "../"},
           {"/round/round/round/inner/data.npy", "../../../../inner/data.npy"},
           {"/round/a%20b%3A%20%22%C3%BC%22%26/", "../../a%20b%3A%20%22%C3%BC%22%26/"}}) {
    const auto reply = Answer(Get(link));
    EXPECT_EQ(reply.status, 307) << link;
    EXPECT_EQ(Field(reply, "Location"), place) << link;
  }
}

TEST_F(SiteTest, ListsOfProgramsHaveNoLinksToFolders) {
  auto request = Get("/", Method::kPropfind);
  request.depth = "1";
  EXPECT_THAT(Answer(request).text, Not(HasSubstr("round")));
  EXPECT_THAT(Answer(request).text, HasSubstr("climb"));
  EXPECT_THAT(Answer(Get("/?format=json")).text, Not(HasSubstr("round")));
  EXPECT_THAT(Answer(Get("/")).text, HasSubstr("href=\"./round/\""));
}

TEST_F(SiteTest, DirectoryWithoutSlashIsRedirectedByARelativeUrl) {
  EXPECT_EQ(Answer(Get("/inner?x=1")).status, 301);
  EXPECT_EQ(Field(Answer(Get("/inner?x=1")), "Location"), "./inner/?x=1");
  EXPECT_EQ(Field(Answer(Get("/a%20b%3A%20%22%C3%BC%22&")), "Location"),
            "./a%20b%3A%20%22%C3%BC%22%26/");
}

TEST_F(SiteTest, WhatIsNotThereIsNotFound) {
  for (const char* path : {"/none", "/inner/none/x", "/top.txt/", "/inner/data.npy/",
                           "/inner/._data.npy", "/.DS_Store"}) {
    EXPECT_EQ(Answer(Get(path)).status, 404) << path;
  }
}

TEST_F(SiteTest, BalancersAskWhetherTheSourceCanBeLookedAt) {
  const auto reply = Answer(Get("/health"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.text, "ok\n");
  EXPECT_EQ(Field(reply, "Cache-Control"), "no-store");
  EXPECT_EQ(Answer(Get("/inner/health")).status, 404);
  const Site site(
      std::make_shared<Folder>(std::map<std::string, TreeNodePtr>{{"health", Text("a file")}}),
      {}, {});
  EXPECT_EQ(AnswerOf(site, Get("/health")).length, 6U);
}

// Both pages are read by the HTTP source of ndlfs itself.
TEST_F(SiteTest, ListingsAreReadByTheSourceOfUrls) {
  const auto html = Answer(Get("/"));
  const auto json = Answer(Get("/?format=json"));
  for (const auto* reply : {&html, &json}) {
    const auto objects = backends::ParseIndexPage(Field(*reply, "Content-Type"), reply->text,
                                                  "http://localhost/");
    ASSERT_TRUE(objects);
    std::map<std::string, bool> found;
    for (const auto& object : *objects) found[object.name] = object.is_directory();
    std::map<std::string, bool> expected = {
        {"top.txt", false}, {"a b: \"ü\"&", true}, {"inner", true}, {"climb", false}};
    if (reply == &html) expected["round"] = true;
    EXPECT_EQ(found, expected);
  }
  EXPECT_THAT(html.text, Not(HasSubstr("href=\"/")));
  EXPECT_THAT(Answer(Get("/inner/")).text, HasSubstr("href=\"../\""));
  EXPECT_NE(Field(html, "Content-Security-Policy"), "none");
}

TEST(DeepFolderTest, PagesAreAsLongAsTheirPath) {
  TreeNodePtr node = Text("1");
  std::string path = "/";
  for (int i = 0; i < 2000; ++i, path += "d/") {
    node = std::make_shared<Folder>(std::map<std::string, TreeNodePtr>{{"d", node}});
  }
  const Site site(node, {.s3 = {.bucket = "b"}}, nullptr);
  path.resize(path.size() - 2);
  const auto reply = AnswerOf(site, Get(path));
  EXPECT_EQ(reply.status, 200);
  EXPECT_LT(reply.text.size(), 50'000U);
  EXPECT_THAT(reply.text, HasSubstr("<a href=\"../../\">d</a> / "));
}

TEST_F(SiteTest, JsonIsThatOfNginx) {
  auto request = Get("/inner/");
  request.accept = "application/json";
  const auto listing = nlohmann::json::parse(Answer(request).text);
  ASSERT_EQ(listing.size(), 2);  // without the links that lead nowhere
  EXPECT_EQ(listing[0]["name"], "data.npy");
  EXPECT_EQ(listing[0]["type"], "file");
  EXPECT_EQ(listing[1]["size"], 3);
}

// All of a reply, block by block if it is made while it is read.
std::string TextOf(const HttpReply& reply) {
  std::string text = reply.text;
  std::string block(10'000, ' ');
  while (reply.file) {
    const auto count = reply.file->Read(text.size(), std::as_writable_bytes(std::span(block)));
    if (!count) return count.error().message();
    text += block.substr(0, *count);
    if (*count < block.size()) break;
  }
  return text;
}

class LongFolderTest : public testing::Test {
 protected:
  LongFolderTest() {
    std::map<std::string, TreeNodePtr> nodes;
    for (int i = 0; i < kCount; ++i) nodes.emplace(fmt::format("{:05}", i), Text("1"));
    nodes.emplace(
        "0000", std::make_shared<Folder>(std::map<std::string, TreeNodePtr>{{"x", Text("1")}}));
    site_.emplace(std::make_shared<Folder>(std::move(nodes)),
                  SiteOptions{.s3 = {.bucket = "b"}}, nullptr);
  }

  static constexpr int kCount = 12'000;
  std::optional<Site> site_;
};

TEST_F(LongFolderTest, ListingsAreMadeWhileTheyAreRead) {
  for (const char* target : {"/", "/?format=json"}) {
    const auto reply = AnswerOf(*site_, Get(target));
    EXPECT_TRUE(reply.text.empty());
    ASSERT_NE(reply.file, nullptr);
    EXPECT_FALSE(reply.length);
    const auto objects = backends::ParseIndexPage(Field(reply, "Content-Type"), TextOf(reply),
                                                  "http://localhost/");
    ASSERT_TRUE(objects);
    EXPECT_EQ(objects->size(), kCount + 1U);
  }
  auto request = Get("/", Method::kPropfind);
  request.depth = "1";
  const std::string text = TextOf(AnswerOf(*site_, request));
  EXPECT_THAT(text, HasSubstr("<D:href>/11999</D:href>"));
  EXPECT_TRUE(text.ends_with("</D:multistatus>\n"));
}

// The keys of all pages of the bucket "b".
std::vector<std::string> KeysOfPages(const Site& site, const std::string& options = "") {
  std::vector<std::string> keys;
  std::string after;
  do {
    const std::string text = TextOf(
        AnswerOf(site, Get("/b/?list-type=2" + options + "&continuation-token=" + after)));
    for (size_t at = 0; (at = text.find("<Key>", at)) != text.npos; ++at) {
      keys.push_back(text.substr(at + 5, text.find("</Key>", at) - at - 5));
    }
    after = text.find("<IsTruncated>true") == text.npos ? "" : keys.back();
  } while (!after.empty());
  return keys;
}

TEST(BucketTest, FoldersAreInOrderWhereOnlyALookTellsWhichTheyAre) {
  const auto inner =
      std::make_shared<Folder>(std::map<std::string, TreeNodePtr>{{"x", Text("1")}});
  const auto tree =
      std::make_shared<Folder>(std::map<std::string, TreeNodePtr>{{"a", inner},
                                                                  {"a-", inner},
                                                                  {"a-b", Text("1")},
                                                                  {"a.c", Text("1")},
                                                                  {"a0", Text("1")}},
                               false);
  const Site site(tree, {.s3 = {.bucket = "b"}}, nullptr);
  const std::vector<std::string> sorted = {"a-/x", "a-b", "a.c", "a/x", "a0"};
  EXPECT_EQ(KeysOfPages(site), sorted);
  EXPECT_EQ(KeysOfPages(site, "&max-keys=1"), sorted);
}

// A page costs no look at all other names, and memory for some of them only.
TEST(BucketTest, PagesOfALongFolderAreReadTogether) {
  std::map<std::string, TreeNodePtr> nodes;
  constexpr size_t kLongCount = 30'000;
  for (size_t i = 0; i < kLongCount; ++i) nodes.emplace(fmt::format("{:0200}", i), Text("1"));
  const auto tree = std::make_shared<Folder>(std::move(nodes));
  const Site site(tree, {.s3 = {.bucket = "b"}}, nullptr);
  const auto keys = KeysOfPages(site);
  EXPECT_EQ(keys.size(), kLongCount);
  EXPECT_TRUE(std::ranges::is_sorted(keys));
  EXPECT_LE(tree->listings, 6);
  // A list that begins anew is that of now.
  AnswerOf(site, Get("/b/?list-type=2"));
  EXPECT_LE(tree->listings, 7);
  const auto now = KeyRun::Clock::now();
  EXPECT_TRUE(site.DropOld(now));
  EXPECT_FALSE(site.DropOld(now + std::chrono::minutes(1)));
}

TEST_F(LongFolderTest, PagesOfABucketHaveTheNextKeysInOrder) {
  const auto keys = KeysOfPages(*site_);
  EXPECT_EQ(keys.size(), kCount + 1U);
  EXPECT_TRUE(std::ranges::is_sorted(keys));
  EXPECT_EQ(keys[0], "0000/x");  // '/' comes before '0'
}

TEST_F(SiteTest, MethodsThatWriteAreRefused) {
  const auto reply = site_.Refuse(Get("/top.txt", Method::kOther));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 405);
  EXPECT_EQ(Field(*reply, "Allow"), "GET, HEAD, OPTIONS, PROPFIND");
  EXPECT_FALSE(site_.Refuse(Get("/top.txt", Method::kHead)));
}

TEST_F(SiteTest, HostsOfOtherSitesAreRefused) {
  auto request = Get("/");
  request.host = "evil.org";
  ASSERT_TRUE(site_.Refuse(request));
  EXPECT_EQ(site_.Refuse(request)->status, 421);
  request = Get("http://evil.org/");
  request.host = "localhost";
  EXPECT_TRUE(site_.Refuse(request));
  request = Get("http://localhost/");
  EXPECT_FALSE(site_.Refuse(request));
}

class TokenSiteTest : public testing::Test {
 protected:
  // The name and the value of the cookie that a browser gets.
  static std::string CookieOf(const HttpReply& reply) {
    const std::string field = Field(reply, "Set-Cookie");
    return field.substr(0, field.find(';'));
  }

  static constexpr std::string_view kToken = "0123456789";
  Site site_{Tree(), {.token = std::string(kToken)}, {}};
};

TEST_F(TokenSiteTest, TokenIsDemandedAndBecomesACookieOfItsOwn) {
  auto request = Get("/top.txt");
  ASSERT_TRUE(site_.Refuse(request));
  EXPECT_EQ(site_.Refuse(request)->status, 401);
  EXPECT_THAT(site_.Refuse(request)->text, Not(HasSubstr(std::string(kToken))));
  request = Get("/top.txt?token=0123456789");
  EXPECT_FALSE(site_.Refuse(request));
  const HttpReply reply = AnswerOf(site_, request);
  EXPECT_THAT(Field(reply, "Set-Cookie"),
              testing::MatchesRegex(
                  "ndlfs-[0-9a-f]{8}=[0-9a-f]{64}; Path=/; HttpOnly; SameSite=Strict"));
  request = Get("/top.txt");
  request.credentials.cookie = CookieOf(reply);
  EXPECT_FALSE(site_.Refuse(request));
  EXPECT_EQ(Field(AnswerOf(site_, request), "Set-Cookie"), "none");
  request = Get("/top.txt?token=0123456789");
  request.is_encrypted = true;
  EXPECT_THAT(Field(AnswerOf(site_, request), "Set-Cookie"),
              testing::MatchesRegex("__Host-.*; Path=/; HttpOnly; SameSite=Strict; Secure"));
}

TEST_F(TokenSiteTest, BrowsersGoOnWithoutTheToken) {
  for (const auto& [target, next] :
       std::map<std::string, std::string>{{"/?token=0123456789", "./"},
                                          {"/inner/?q=x&token=0123456789", "./?q=x"},
                                          {"/inner?token=0123456789", "./inner"}}) {
    auto request = Get(target);
    request.accept = "text/html,*/*";
    auto reply = site_.Refuse(request);
    ASSERT_TRUE(reply) << target;
    site_.Complete(request, *reply);
    EXPECT_EQ(reply->status, 200);
    EXPECT_EQ(Field(*reply, "Refresh"), "0; url=" + next);
    EXPECT_EQ(Field(*reply, "Cache-Control"), "no-store");
    EXPECT_NE(CookieOf(*reply), "none");
    EXPECT_THAT(reply->text, Not(HasSubstr(std::string(kToken))));
  }
}

TEST_F(TokenSiteTest, WhoGuessesIsSlowedDown) {
  auto wrong = Get("/top.txt?token=wrong");
  std::map<unsigned, int> statuses;
  for (int i = 0; i < 100; ++i) ++statuses[site_.Refuse(wrong)->status];
  EXPECT_GE(statuses[401], 60);
  EXPECT_GE(statuses[429], 30);
  // What comes after that is not looked at: else a guess would be seen to be right.
  auto right = Get("/top.txt?token=0123456789");
  EXPECT_EQ(site_.Refuse(right)->status, 429);
  auto in_path = Get("/top.txt");
  in_path.has_token_in_path = true;
  EXPECT_EQ(site_.Refuse(in_path)->status, 429);
  right.client = 2;
  EXPECT_FALSE(site_.Refuse(right));
  right.client = 0;
  right.credentials.cookie = CookieOf(AnswerOf(site_, right));
  EXPECT_FALSE(site_.Refuse(right));
}

TEST_F(TokenSiteTest, OwnersOfLongTokensAreNotSlowedDown) {
  const std::string token = "0123456789abcdef0123";
  const Site site(Tree(), {.token = token}, {});
  for (int i = 0; i < 100; ++i) site.Refuse(Get("/"));
  EXPECT_EQ(site.Refuse(Get("/"))->status, 429);
  EXPECT_FALSE(site.Refuse(Get("/?token=" + token)));
}

TEST_F(TokenSiteTest, AnswersAreForOneClientOnly) {
  EXPECT_EQ(Field(AnswerOf(site_, Get("/top.txt")), "Cache-Control"), "private, no-cache");
}

TEST(CachingTest, FollowsTheTimeThatALookIsTrusted) {
  const auto of = [](SiteOptions options) {
    return Field(AnswerOf(Site(Tree(), std::move(options), {}), Get("/top.txt")),
                 "Cache-Control");
  };
  EXPECT_EQ(of({}), "no-cache");
  EXPECT_EQ(of({.trusted = std::chrono::seconds(60)}), "max-age=60");
  EXPECT_EQ(of({.is_immutable = true}), "max-age=31536000, immutable");
  EXPECT_EQ(of({.is_immutable = true, .is_per_user = true}),
            "private, max-age=31536000, immutable");
}

TEST_F(SiteTest, RequestsOfOtherSitesThatDoMoreThanReadAreRefused) {
  auto request = Get("/", Method::kPropfind);
  request.host = "localhost:8080";
  EXPECT_FALSE(site_.Refuse(request));
  request.origin = "http://localhost:8080";
  EXPECT_FALSE(site_.Refuse(request));
  request.origin = "http://evil.example";
  ASSERT_TRUE(site_.Refuse(request));
  EXPECT_EQ(site_.Refuse(request)->status, 403);
}

TEST_F(SiteTest, OnlyOwnPagesAreDocumentsWithARight) {
  const auto page = Field(Answer(Get("/")), "Content-Security-Policy");
  EXPECT_THAT(page, HasSubstr("script-src 'sha256-"));
  EXPECT_THAT(page, Not(HasSubstr("unsafe")));
  for (const char* target : {"/inner/data.npy", "/top.txt", "/none", "/?format=json"}) {
    const auto reply = Answer(Get(target));
    EXPECT_THAT(Field(reply, "Content-Security-Policy"),
                HasSubstr("sandbox; default-src 'none'"))
        << target;
    EXPECT_EQ(Field(reply, "X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(Field(reply, "Cross-Origin-Resource-Policy"), "same-origin");
  }
}

TEST(CorsSiteTest, OtherSitesMayReadOnDemandOnly) {
  const Site site(Tree(), {.origins = {"*"}}, {});
  EXPECT_EQ(Field(AnswerOf(site, Get("/top.txt")), "Access-Control-Allow-Origin"), "*");
  const Site closed(Tree(), {}, {});
  EXPECT_EQ(Field(AnswerOf(closed, Get("/top.txt")), "Access-Control-Allow-Origin"), "none");
  const Site listed(Tree(), {.origins = {"https://a.example", "https://b.example"}}, {});
  auto request = Get("/top.txt");
  for (const auto& [origin, allowed] :
       std::map<std::string, std::string>{{"https://b.example", "https://b.example"},
                                          {"https://c.example", "none"},
                                          {"https://b.example:1", "none"},
                                          {"null", "none"}}) {
    request.origin = origin;
    const auto reply = AnswerOf(listed, request);
    EXPECT_EQ(Field(reply, "Access-Control-Allow-Origin"), allowed) << origin;
    EXPECT_EQ(Field(reply, "Vary"), "Origin");
  }
}

TEST_F(SiteTest, PropfindTellsADirectoryAndItsEntries) {
  auto request = Get("/inner", Method::kPropfind);
  request.depth = "1";
  const auto reply = Answer(request);
  EXPECT_EQ(reply.status, 207);
  EXPECT_THAT(reply.text, HasSubstr("<D:href>/inner/</D:href>"));
  EXPECT_THAT(reply.text, HasSubstr("<D:href>/inner/data.npy</D:href>"));
  EXPECT_THAT(reply.text, HasSubstr("<D:getcontentlength>10</D:getcontentlength>"));
  request.depth = "0";
  EXPECT_THAT(Answer(request).text, Not(HasSubstr("data.npy")));
  for (const auto& depth :
       {std::optional<std::string>(), std::optional<std::string>("infinity")}) {
    request.depth = depth;
    EXPECT_EQ(Answer(request).status, 403);
    EXPECT_THAT(Answer(request).text, HasSubstr("propfind-finite-depth"));
  }
}

TEST(MultistatusTest, NamesAreEncodedBelowTheBase) {
  const auto folder =
      std::make_shared<Folder>(std::map<std::string, TreeNodePtr>{{"<x>", Text("1")}});
  const Site site(std::make_shared<Folder>(std::map<std::string, TreeNodePtr>{{"a&b", folder}}),
                  {.base = "/data"}, {});
  HttpRequest request = {.method = Method::kPropfind,
                         .target = *ParseRequestTarget("/data/a%26b", "/data"),
                         .depth = "1"};
  request.base = "/data";
  const auto text = AnswerOf(site, request).text;
  EXPECT_THAT(text, HasSubstr("<D:href>/data/a%26b/</D:href>"));
  EXPECT_THAT(text, HasSubstr("<D:href>/data/a%26b/%3Cx%3E</D:href>"));
  EXPECT_THAT(text, HasSubstr("<D:displayname>&lt;x&gt;</D:displayname>"));
}

// A file whose size only decoding tells, or that is made anew for each reader.
class UnsizedFile final : public TreeNode {
 public:
  explicit UnsizedFile(Cost cost, bool is_volatile = false)
      : cost_(cost), is_volatile_(is_volatile) {}

  Relation Compare(const TreeNode&) const override { return Relation::kSame; }
  model::Result<Attributes> Stat() const override {
    Attributes attributes = kOfFile;
    attributes.size = is_volatile_ ? 0 : 12345;
    return attributes;
  }
  Cost StatCost() const override { return cost_; }
  bool IsVolatile() const override { return is_volatile_; }

 private:
  const Cost cost_;
  const bool is_volatile_;
};

// JSON leaves a size out rather than decode; clients of WebDAV and S3 would take 0 for it.
TEST(ListedSizesTest, NoListTellsASizeThatIsNotTheFiles) {
  using Cost = TreeNode::Cost;
  const auto tree = std::make_shared<Folder>(std::map<std::string, TreeNodePtr>{
      {"control", std::make_shared<UnsizedFile>(Cost::kNothing, true)},
      {"scan", std::make_shared<UnsizedFile>(Cost::kScan)},
      {"text", std::make_shared<UnsizedFile>(Cost::kRead)}});
  const Site site(tree, {.s3 = {.bucket = "tree"}}, {});
  const auto json = AnswerOf(site, Get("/?format=json")).text;
  EXPECT_THAT(json, HasSubstr("\"text\""));
  EXPECT_THAT(json, Not(HasSubstr("\"size\"")));
  auto request = Get("/", Method::kPropfind);
  request.depth = "1";
  const auto dav = AnswerOf(site, request).text;
  EXPECT_THAT(dav, HasSubstr("/text</D:href>"));
  EXPECT_THAT(dav, HasSubstr("<D:getcontentlength>12345</D:getcontentlength>"));
  EXPECT_EQ(dav.find("getcontentlength>"), dav.rfind("<D:getcontentlength>") + 3) << dav;
  const auto list = AnswerOf(site, Get("/tree/?list-type=2")).text;
  EXPECT_THAT(list, HasSubstr("<Key>text</Key>"));
  EXPECT_THAT(list, HasSubstr("<Size>12345</Size>"));
  EXPECT_THAT(list, Not(HasSubstr("<Size>0</Size>")));
}

// A file that counts how often it is opened, and that one may rely on for a while.
class CountedFile final : public TreeNode {
 public:
  Relation Compare(const TreeNode&) const override { return Relation::kSame; }
  model::Result<Attributes> Stat() const override {
    Attributes attributes = kOfFile;
    attributes.size = 10;
    return attributes;
  }
  model::Result<OpenedFile> Open() override {
    ++opens;
    OpenedFile opened = OpenText(std::make_shared<const std::string>("0123456789"));
    opened.looked_at = looked_at;
    return opened;
  }
  std::optional<FileVersion> Version() const override { return FileVersion{7, 10}; }

  int opens = 0;
  KnownFiles::Clock::time_point looked_at = KnownFiles::Clock::now();
};

class KnownFilesTest : public testing::Test {
 protected:
  Site MakeSite(std::chrono::nanoseconds trusted) {
    return Site(std::make_shared<Folder>(std::map<std::string, TreeNodePtr>{{"f", file_}}),
                {.trusted = trusted}, {});
  }

  std::shared_ptr<CountedFile> file_ = std::make_shared<CountedFile>();
};

TEST_F(KnownFilesTest, FileIsOpenedOnceWhileTheLookAtItIsTrusted) {
  const Site site = MakeSite(std::chrono::hours(1));
  HttpRequest request = Get("/f");
  EXPECT_FALSE(site.AnswerKnown(request));
  const HttpReply first = AnswerOf(site, request);
  request.range = "bytes=2-4";
  auto known = site.AnswerKnown(request);
  ASSERT_TRUE(known);
  EXPECT_EQ(file_->opens, 1);
  EXPECT_EQ(known->status, 206);
  EXPECT_EQ(Field(*known, "Content-Range"), "bytes 2-4/10");
  EXPECT_EQ(Field(*known, "ETag"), Field(first, "ETag"));
  request.conditions.if_none_match = Field(first, "ETag");
  EXPECT_EQ(site.AnswerKnown(request)->status, 304);
  EXPECT_FALSE(site.AnswerKnown(Get("/f?x")));
  EXPECT_FALSE(site.AnswerKnown(Get("/f/")));
  EXPECT_FALSE(site.AnswerKnown(Get("/f", Method::kPropfind)));
  site.ForgetKnown(request);
  EXPECT_FALSE(site.AnswerKnown(Get("/f")));
}

TEST_F(KnownFilesTest, NothingIsKnownLongerThanTheLookIsTrusted) {
  const Site anew = MakeSite({});
  AnswerOf(anew, Get("/f"));
  EXPECT_FALSE(anew.AnswerKnown(Get("/f")));
  const Site site = MakeSite(std::chrono::seconds(10));
  file_->looked_at -= std::chrono::seconds(11);
  AnswerOf(site, Get("/f"));
  EXPECT_FALSE(site.AnswerKnown(Get("/f")));
  file_->looked_at = {};  // nobody may rely on it
  AnswerOf(site, Get("/f"));
  EXPECT_FALSE(site.AnswerKnown(Get("/f")));
  file_->looked_at = KnownFiles::Clock::now();
  AnswerOf(site, Get("/f"));
  EXPECT_TRUE(site.AnswerKnown(Get("/f")));
  EXPECT_TRUE(site.DropOld(KnownFiles::Clock::now()));
  EXPECT_FALSE(site.DropOld(KnownFiles::Clock::now() + std::chrono::seconds(11)));
  EXPECT_FALSE(site.AnswerKnown(Get("/f")));
}

// A dataset of DAP with the variable x.
class DapSiteTest : public testing::Test {
 protected:
  HttpReply Ask(std::string_view target) { return AnswerOf(site_, Get(target)); }

  Site site_{std::make_shared<Folder>(std::map<std::string, TreeNodePtr>{
                 {"s.zarr", std::make_shared<Folder>(std::map<std::string, TreeNodePtr>{
                                {"data.dds", Text("Dataset {};")},
                                {"data[x].dds", Text("Dataset { x };")},
                                {"data.dmr", Text("<Dataset/>")}})},
                 {"picture.dds", Text("DDS")}}),
             {},
             {}};
};

TEST_F(DapSiteTest, WrongConstraintsAreBadRequestsInTheFormOfTheProtocol) {
  EXPECT_EQ(Ask("/s.zarr.dds?x").status, 200);
  const auto two = Ask("/s.zarr.dds?y");
  EXPECT_EQ(two.status, 400);
  EXPECT_EQ(two.text, "Error {\n    code = 1005;\n    message = \"data[y].dds\";\n};\n");
  EXPECT_EQ(Field(two, "Content-Description"), "dods-error");
  const auto four = Ask("/s.zarr.dmr?dap4.ce=/%3Cy%3E");
  EXPECT_EQ(four.status, 400);
  EXPECT_THAT(four.text, HasSubstr("httpcode=\"400\"><Message>data[/&lt;y&gt;].dmr</Message>"));
  EXPECT_EQ(Field(four, "Content-Type"), "application/vnd.opendap.dap4.error+xml");
}

TEST_F(DapSiteTest, WhereNoDatasetIsNoConstraintIsWrong) {
  const auto reply = Ask("/none.dds?y");
  EXPECT_EQ(reply.status, 404);
  EXPECT_THAT(reply.text, HasSubstr("code = 1003;"));
  EXPECT_EQ(Ask("/picture.dds").status, 200);
  EXPECT_EQ(Field(Ask("/picture.dds"), "XDAP"), "none");
  EXPECT_EQ(Ask("/s.zarr.txt?y").status, 404);
}

class S3GatewayTest : public testing::Test {
 protected:
  HttpReply Ask(std::string_view target, Method method = Method::kGet) {
    return AnswerOf(site_, Get(target, method));
  }
  // The keys and common prefixes of a list, in the order of the list.
  std::vector<std::string> KeysOf(std::string_view query) {
    const std::string text = Ask(fmt::format("/tree/?list-type=2{}", query)).text;
    std::vector<std::string> keys;
    for (size_t at = 0; (at = text.find("<Key>", at)) != text.npos; ++at) {
      keys.push_back(text.substr(at + 5, text.find("</Key>", at) - at - 5));
    }
    constexpr std::string_view kCommon = "<CommonPrefixes><Prefix>";
    for (size_t at = 0; (at = text.find(kCommon, at)) != text.npos; ++at) {
      const size_t begin = at + kCommon.size();
      keys.push_back(text.substr(begin, text.find("</Prefix>", begin) - begin));
    }
    return keys;
  }

  Site site_{Tree(), {.s3 = {.bucket = "tree"}}, {}};
};

TEST_F(S3GatewayTest, ListsHaveTheOrderOfKeysAndPages) {
  const std::vector<std::string> all = KeysOf("&encoding-type=url");
  EXPECT_THAT(all, testing::ElementsAre("a%20b%3A%20%22%C3%BC%22%26/data.npy",
                                        "a%20b%3A%20%22%C3%BC%22%26/up.txt", "climb",
                                        "inner/data.npy", "inner/up.txt", "top.txt"));
  EXPECT_THAT(
      KeysOf("&delimiter=/"),
      testing::ElementsAre("climb", "top.txt", "a b: &quot;\u00fc&quot;&amp;/", "inner/"));
  EXPECT_THAT(KeysOf("&delimiter=/&prefix=inner/"),
              testing::ElementsAre("inner/data.npy", "inner/up.txt"));
  EXPECT_THAT(KeysOf("&prefix=inn&delimiter=/"), testing::ElementsAre("inner/"));
  EXPECT_THAT(KeysOf("&prefix=inner/u"), testing::ElementsAre("inner/up.txt"));
  EXPECT_THAT(KeysOf("&start-after=inner/data.npy"),
              testing::ElementsAre("inner/up.txt", "top.txt"));
  EXPECT_THAT(KeysOf("&prefix=../"), testing::IsEmpty());
  EXPECT_THAT(KeysOf("&prefix=none/"), testing::IsEmpty());
  std::vector<std::string> pages;
  std::string after;
  for (size_t i = 0; i < all.size(); ++i) {
    const auto page = KeysOf("&encoding-type=url&max-keys=1&continuation-token=" + after);
    ASSERT_EQ(page.size(), 1U);
    pages.push_back(page[0]);
    after = page[0];
  }
  EXPECT_EQ(pages, all);
  EXPECT_THAT(Ask("/tree?list-type=2&max-keys=1").text, HasSubstr("<IsTruncated>true<"));
}

TEST_F(S3GatewayTest, WhatIsNoListIsNotAnsweredByOne) {
  for (const char* const query : {"versions", "acl", "uploads&prefix=a"}) {
    const HttpReply reply = Ask(std::string("/tree?") + query);
    EXPECT_EQ(reply.status, 501u) << query;
    EXPECT_THAT(reply.text, HasSubstr("<Code>NotImplemented</Code>"));
  }
}

TEST_F(S3GatewayTest, ObjectsAreFiles) {
  const HttpReply file = Ask("/tree/inner/data.npy");
  EXPECT_EQ(file.status, 200U);
  EXPECT_EQ(file.length, 10U);
  for (const char* key : {"none", "inner", "inner/", "inner/out.txt"}) {
    const HttpReply reply = Ask(fmt::format("/tree/{}", key));
    EXPECT_EQ(reply.status, 404U) << key;
    EXPECT_THAT(reply.text, HasSubstr("<Code>NoSuchKey</Code>"));
  }
  EXPECT_EQ(Ask("/tree", Method::kHead).status, 200U);
  EXPECT_EQ(Ask("/tree/?list-type=2&max-keys=x").status, 400U);
  EXPECT_EQ(Ask("/other/").status, 404U);
}

TEST_F(S3GatewayTest, ListsHaveTheTagsOfObjects) {
  const std::string tag = Field(Ask("/tree/inner/data.npy"), "ETag");
  EXPECT_THAT(Ask("/tree/?list-type=2&prefix=inner/data").text,
              HasSubstr("<ETag>&quot;" + tag.substr(1, tag.size() - 2) + "&quot;</ETag>"));
}

TEST_F(S3GatewayTest, WritingIsRefusedInTheFormOfTheProtocol) {
  const HttpRequest request = Get("/tree/inner/data.npy", Method::kOther);
  auto refusal = site_.Refuse(request);
  ASSERT_TRUE(refusal);
  site_.Complete(request, *refusal);
  EXPECT_EQ(refusal->status, 405U);
  EXPECT_EQ(Field(*refusal, "Content-Type"), "application/xml");
  EXPECT_THAT(refusal->text, HasSubstr("<Code>MethodNotAllowed</Code>"));
}

TEST_F(S3GatewayTest, KeysAreDemanded) {
  const Site site(Tree(),
                  {.s3 = {.bucket = "tree", .access_key = "key", .secret_key = "secret"}}, {});
  HttpRequest request = Get("/tree/top.txt");
  request.target_as_sent = "/tree/top.txt";
  auto refusal = site.Refuse(request);
  ASSERT_TRUE(refusal);
  site.Complete(request, *refusal);
  EXPECT_EQ(refusal->status, 403U);
  EXPECT_THAT(refusal->text, HasSubstr("<Code>AccessDenied</Code>"));
  EXPECT_FALSE(site.Refuse(Get("/top.txt")));
}

}  // namespace
}  // namespace ndlfs::fs
