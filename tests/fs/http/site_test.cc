// SPDX-License-Identifier: MIT
#include "fs/http/site.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>

#include "backends/store/http/index_page.h"
#include "fs/http/listing.h"
#include "fs/http/webdav.h"

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
  explicit Folder(std::map<std::string, TreeNodePtr> nodes) : nodes_(std::move(nodes)) {}

  model::Result<Attributes> Stat() const override { return kOfFolder; }
  model::Result<TreeNodePtr> Lookup(std::string_view name) const override {
    const auto found = nodes_.find(std::string(name));
    if (found == nodes_.end()) return model::NotFound("{}", name);
    return found->second;
  }
  model::Result<std::unique_ptr<DirectoryReader>> OpenDirectory() const override {
    std::vector<DirectoryEntry> entries;
    for (const auto& [name, node] : nodes_) {
      entries.push_back({name, node->Stat()->mode & S_IFMT});
    }
    return MakeListReader(std::move(entries));
  }

 private:
  const std::map<std::string, TreeNodePtr> nodes_;
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
      {"climb", MakeSymlinkNode("../../../inner/data.npy", kOfFile)}});
}

HttpRequest Get(std::string_view target, Method method = Method::kGet) {
  return {.method = method, .target = *ParseRequestTarget(target)};
}

HttpReply AnswerOf(const Site& site, const HttpRequest& request) {
  auto reply = std::get<HttpReply>(site.Answer(request, Lane::kLook));
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
  EXPECT_EQ(Answer(Get("/inner/up.txt")).length, 3);
  EXPECT_EQ(Answer(Get("/climb")).length, 10);
  EXPECT_EQ(Answer(Get("/inner/out.txt")).status, 404);
  EXPECT_EQ(Answer(Get("/inner/loop")).status, 500);
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
    EXPECT_EQ(
        found,
        (std::map<std::string, bool>{
            {"top.txt", false}, {"a b: \"ü\"&", true}, {"inner", true}, {"climb", false}}));
  }
  EXPECT_THAT(html.text, Not(HasSubstr("href=\"/")));
  EXPECT_THAT(Answer(Get("/inner/")).text, HasSubstr("href=\"../\""));
  EXPECT_NE(Field(html, "Content-Security-Policy"), "none");
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

TEST(TokenSiteTest, TokenIsDemandedAndKeptInACookie) {
  const Site site(Tree(), {.base = "", .token = "0123456789"}, {});
  auto request = Get("/top.txt");
  ASSERT_TRUE(site.Refuse(request));
  EXPECT_EQ(site.Refuse(request)->status, 401);
  EXPECT_THAT(site.Refuse(request)->text, Not(HasSubstr("0123456789")));
  request = Get("/top.txt?token=0123456789");
  EXPECT_FALSE(site.Refuse(request));
  EXPECT_EQ(Field(AnswerOf(site, request), "Set-Cookie"),
            "ndlfs-token=0123456789; Path=/; HttpOnly; SameSite=Strict");
  request = Get("/top.txt");
  request.credentials.cookie = "ndlfs-token=0123456789";
  EXPECT_FALSE(site.Refuse(request));
  EXPECT_EQ(Field(AnswerOf(site, request), "Set-Cookie"), "none");
}

TEST(CorsSiteTest, OtherSitesMayReadOnDemandOnly) {
  const Site site(Tree(), {.cors = true}, {});
  EXPECT_EQ(Field(AnswerOf(site, Get("/top.txt")), "Access-Control-Allow-Origin"), "*");
  const Site closed(Tree(), {}, {});
  EXPECT_EQ(Field(AnswerOf(closed, Get("/top.txt")), "Access-Control-Allow-Origin"), "none");
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
  const auto text = WriteMultistatus("/data", {"a&b"}, {.name = "", .is_directory = true},
                                     {{.name = "<x>", .is_directory = false, .size = 1}});
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
  EXPECT_TRUE(site.DropOldFiles(KnownFiles::Clock::now()));
  EXPECT_FALSE(site.DropOldFiles(KnownFiles::Clock::now() + std::chrono::seconds(11)));
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
