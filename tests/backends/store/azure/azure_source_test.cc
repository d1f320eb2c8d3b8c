// SPDX-License-Identifier: MIT
#include "backends/store/azure/azure_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "backends/store/azure/account.h"
#include "backends/store/azure/blob_list.h"
#include "backends/store/azure/credentials.h"
#include "backends/store/azure/shared_key.h"
#include "tests/support/fake_bucket.h"
#include "tests/support/result.h"

namespace ndlfs::backends::azure {
namespace {

using model::ErrorCode;
using test::FakeBucket;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int64_t kNow = 1'700'000'000;  // 2023-11-14 22:13:20

// The example of "Authorize with Shared Key".
TEST(AzureSharedKeyTest, StringToSignIsThatOfTheDocumentation) {
  EXPECT_EQ(
      StringToSign(
          "myaccount", HttpMethod::kGet, "/mycontainer",
          "restype=container&comp=metadata&timeout=20",
          {{"x-ms-date", "Fri, 26 Jun 2015 23:39:12 GMT"}, {"x-ms-version", "2015-02-21"}}),
      "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:Fri, 26 Jun 2015 23:39:12 GMT\n"
      "x-ms-version:2015-02-21\n/myaccount/mycontainer\ncomp:metadata\nrestype:container\n"
      "timeout:20");
  EXPECT_EQ(StringToSign("a", HttpMethod::kHead, "/a/c/x%20y", "b=%2F&A=2&a=1",
                         {{"Range", "bytes=0-9"}, {"If-Match", "\"e\""}, {"X-Ms-Z", "z"}}),
            "HEAD\n\n\n\n\n\n\n\n\"e\"\n\n\nbytes=0-9\nx-ms-z:z\n/a/a/c/x%20y\na:1,2\nb:/");
}

TEST(AzureSharedKeyTest, KeysAreBase64) {
  EXPECT_THAT(MakeSharedKey("a", "hush!"),
              test::IsError(ErrorCode::kBadInput, Not(HasSubstr("hush"))));
}

std::string List(const std::string& inside, const std::string& marker = "") {
  return "\xEF\xBB\xBF<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults>"
         "<Prefix>a/</Prefix><Blobs>" +
         inside + "</Blobs><NextMarker>" + marker + "</NextMarker></EnumerationResults>";
}
std::string Blob(const std::string& name, const std::string& more = "") {
  return "<Blob>" + name + "<Properties><Content-Length>7</Content-Length>" + more +
         "</Properties></Blob>";
}

TEST(AzureListTest, BlobsPrefixesAndFolders) {
  const auto page = ParseBlobList(
      List(Blob("<Name>a/b &amp; c</Name>",
                "<Etag>0x8D</Etag><Last-Modified>Fri, 24 May 2013 "
                "10:20:30 GMT</Last-Modified>") +
               Blob("<Name Encoded=\"true\">a/%01</Name>") +
               Blob("<Name>a/f</Name>", "<ResourceType>directory</ResourceType>") +
               "<BlobPrefix><Name>a/d/</Name></BlobPrefix>",
           "next"),
      "a/");
  ASSERT_THAT(page, test::IsOk());
  ASSERT_EQ(page->objects.size(), 2u);
  EXPECT_EQ(page->objects[0].key, "a/b & c");
  EXPECT_EQ(page->objects[0].size, 7u);
  EXPECT_EQ(page->objects[0].etag, "0x8D");
  EXPECT_EQ(page->objects[0].modified_ns, 1369390830'000'000'000);
  EXPECT_EQ(page->objects[1].key, "a/\x01");
  EXPECT_EQ(page->objects[1].etag, "") << "not that of the blob before";
  EXPECT_THAT(page->prefixes, ElementsAre("a/f/", "a/d/"));
  EXPECT_EQ(page->next_token, "next");
}

TEST(AzureListTest, WhatIsNoListIsRefused) {
  const std::map<std::string, std::string> wrong = {
      {"", "no valid XML"},
      {"<html/>", "not a list"},
      {"<EnumerationResults><Blobs>", "no valid XML"},
      {List("<Blob><Properties><Content-Length>1</Content-Length></Properties></Blob>"),
       "without a name"},
      {List("<Blob><Name>a/x</Name></Blob>"), "without a size"},
      {List("<Blob><Name>a/x</Name><Properties><Content-Length>-1</Content-Length>"
            "</Properties></Blob>"),
       "a size of"},
      {List(Blob("<Name>b/x</Name>")), "in a list of what begins with"},
      {List(Blob("<Name Encoded=\"true\">a/%4</Name>")), "the name"},
      {List("<BlobPrefix><Name></Name></BlobPrefix>"), "the name"}};
  for (const auto& [text, why] : wrong) {
    EXPECT_THAT(ParseBlobList(text, "a/"), test::IsError(ErrorCode::kBadInput, HasSubstr(why)));
  }
}

TEST(AzureUrlTest, ThreeFormsOfOnePlace) {
  const auto az = ParseBlobUrl("az://data/a%20/b/").value();
  EXPECT_EQ(az.container, "data");
  EXPECT_EQ(az.prefix, "a%20/b");
  EXPECT_EQ(az.endpoint, "");
  const auto abfs = ParseBlobUrl("abfs://data@acct.dfs.core.windows.net/a b").value();
  EXPECT_EQ(abfs.account, "acct");
  EXPECT_EQ(abfs.endpoint, "https://acct.blob.core.windows.net");
  EXPECT_EQ(abfs.prefix, "a b");
  EXPECT_EQ(abfs.name, "abfs://data@acct.dfs.core.windows.net");
  const auto https =
      ParseBlobUrl("https://acct.blob.core.windows.net/data/a%20b?sv=1&sig=x").value();
  EXPECT_EQ(https.container, "data");
  EXPECT_EQ(https.prefix, "a b");
  EXPECT_EQ(https.sas, "sv=1&sig=x");
  EXPECT_EQ(https.name, "https://acct.blob.core.windows.net/data");
}

TEST(AzureUrlTest, CredentialsGoToAzureAlone) {
  for (const char* url :
       {"abfs://data@example.org/x", "abfs://data@evil.blob.core.windows.net.example.org/x",
        "abfs://data@a.b.blob.core.windows.net/x", "abfs://data@acct/x", "az://a/x",
        "az://UP/x", "az://data/a//b", "https://acct.blob.core.windows.net/"}) {
    EXPECT_FALSE(ParseBlobUrl(url)) << url;
  }
}

class AzureTest : public ::testing::Test {
 protected:
  model::Result<std::shared_ptr<const RemoteSource>> Open(const std::string& url) {
    azure_.variable = test::Variables(variables_);
    azure_.now_s = [this] { return now_; };
    const RemoteOptions options = {.trusts_looks_for = std::chrono::seconds(0)};
    return OpenAzureSource(url, azure_, options, bucket_.client());
  }
  // The text of the blob "a", or the error.
  std::string Read(const std::string& url = "az://bucket") {
    const auto source = Open(url);
    if (!source) return source.error().message();
    const auto value = (*source)->OpenFile("a")->Get("", 1000);
    if (!value) return value.error().message();
    return *value ? std::string(AsText((*value)->bytes.span())) : "absent";
  }
  std::string LastUrl() const { return bucket_.sent().back().url; }

  FakeBucket bucket_{"bucket", FakeBucket::Kind::kAzure};
  std::map<std::string, std::string> variables_ = {{"AZURE_STORAGE_ACCOUNT", "acct"}};
  AzureOptions azure_;
  int64_t now_ = kNow;
};

TEST_F(AzureTest, TheAccountIsInTheHost) {
  bucket_.Put("a", "text");
  EXPECT_EQ(Read(), "text");
  EXPECT_EQ(LastUrl(), "https://acct.blob.core.windows.net/bucket/a");
  EXPECT_EQ(bucket_.sent().back().Find("x-ms-version"), "2023-11-03");
  EXPECT_EQ(bucket_.sent().back().Find("Authorization"), "");
  variables_.clear();
  EXPECT_THAT(Read(), HasSubstr("AZURE_STORAGE_ACCOUNT must name the account"));
  variables_["AZURE_STORAGE_CONNECTION_STRING"] = "AccountName=other;AccountKey=c2VjcmV0";
  EXPECT_EQ(Read(), "text");
  EXPECT_EQ(LastUrl(), "https://other.blob.core.windows.net/bucket/a");
  EXPECT_THAT(bucket_.sent().back().Find("Authorization"), StartsWith("SharedKey other:"));
  variables_["AZURE_STORAGE_CONNECTION_STRING"] = "AccountKey=hush";
  EXPECT_THAT(Read(), AllOf(HasSubstr("neither AccountName"), Not(HasSubstr("hush"))));
}

TEST_F(AzureTest, TheAccountMayBeASetting) {
  bucket_.Put("a", "text");
  azure_.account = "other";
  EXPECT_EQ(Read(), "text");
  EXPECT_EQ(LastUrl(), "https://other.blob.core.windows.net/bucket/a");
  variables_.clear();
  azure_ = {};
  azure_.endpoint = "https://third.blob.core.windows.net";
  variables_["AZURE_STORAGE_KEY"] = "c2VjcmV0";
  EXPECT_EQ(Read(), "text");
  EXPECT_THAT(bucket_.sent().back().Find("Authorization"), StartsWith("SharedKey third:"));
  azure_.endpoint = "https://example.org";
  EXPECT_THAT(Read(), HasSubstr("AZURE_STORAGE_ACCOUNT must name the account"));
}

TEST_F(AzureTest, TheKeyOfAnotherAccountIsNotUsed) {
  bucket_.Put("a", "text");
  variables_["AZURE_STORAGE_KEY"] = "c2VjcmV0";
  EXPECT_EQ(Read("abfs://bucket@other.dfs.core.windows.net"), "text");
  EXPECT_EQ(bucket_.sent().back().Find("Authorization"), "");
}

TEST_F(AzureTest, ASignatureIsSentAndNeverShown) {
  bucket_.Put("a", "text");
  variables_["AZURE_STORAGE_SAS_TOKEN"] = "?sv=1&se=2023-11-14T22%3A13Z&sig=hush%2B";
  now_ -= 30;
  EXPECT_EQ(Read(), "text");
  EXPECT_THAT(LastUrl(), EndsWith("/bucket/a?sv=1&se=2023-11-14T22%3A13Z&sig=hush%2B"));
  bucket_.set_special(
      [](const auto&) { return FakeBucket::Error(403, "AuthenticationFailed"); });
  EXPECT_THAT(Read(), AllOf(HasSubstr("AuthenticationFailed"), Not(HasSubstr("hush"))));
  now_ += 30;
  EXPECT_THAT(Read(),
              AllOf(HasSubstr("has ended at 2023-11-14T22:13Z"), Not(HasSubstr("hush"))));
  variables_["AZURE_STORAGE_SAS_TOKEN"] = "hush";
  EXPECT_THAT(Read(), AllOf(HasSubstr("no shared access signature"), Not(HasSubstr("hush"))));
}

TEST_F(AzureTest, WhatMayNotBeReadByEverybodyIsRefused) {
  const std::map<std::string, int> answers = {{"ResourceNotFound", 404},
                                              {"PublicAccessNotPermitted", 409},
                                              {"AuthorizationFailure", 403}};
  for (const auto& [code, status] : answers) {
    bucket_.set_special([code = code, status = status](const auto&) {
      return FakeBucket::Error(status, code);
    });
    const auto value = Open("az://bucket").value()->OpenFile("a")->Get("", 1000);
    ASSERT_FALSE(value) << code;
    EXPECT_EQ(value.error().sys_errno(), EACCES) << code;
    EXPECT_THAT(value.error().message(),
                AllOf(HasSubstr(code), HasSubstr("asked without credentials")));
  }
}

TEST_F(AzureTest, TheClockOfTheServerCounts) {
  bucket_.Put("a", "text");
  variables_["AZURE_STORAGE_KEY"] = "c2VjcmV0";
  bucket_.set_special([](const auto& sent) -> std::optional<test::FakeAnswer> {
    if (sent.Find("x-ms-date") == "Tue, 14 Nov 2023 23:13:20 GMT") return std::nullopt;
    auto error = FakeBucket::Error(403, "AuthenticationFailed");
    error.headers.push_back({"date", "Tue, 14 Nov 2023 23:13:20 GMT"});
    return error;
  });
  EXPECT_EQ(Read(), "text");
}

TEST_F(AzureTest, TheEndOfABlobIsReadByItsSize) {
  bucket_.Put("a", "0123456789");
  bucket_.Put("empty", "");
  const auto store = Open("az://bucket").value()->OpenStore("");
  const ReadOptions last = {.range = {3, ByteRange::kToEnd}, .from_end = true};
  const auto text = [&](const std::string& key) {
    const auto value = store->Get(key, 100, last);
    return value && *value ? std::string(AsText((*value)->bytes.span())) : "none";
  };
  EXPECT_EQ(text("a"), "789");
  EXPECT_EQ(text("empty"), "");
  EXPECT_EQ(text("absent"), "none");
  const std::vector<ReadRequest> reads = {
      {"a", last}, {"absent", last}, {"a", {.range = {0, 2}}}, {"empty", last}};
  const auto values = store->ReadMany(reads);
  ASSERT_EQ(values.size(), 4u);
  EXPECT_EQ(AsText((**values[0]).bytes.span()), "789");
  EXPECT_FALSE(values[1]->has_value());
  EXPECT_EQ(AsText((**values[2]).bytes.span()), "01");
  EXPECT_EQ((**values[3]).bytes.size(), 0u);
}

TEST_F(AzureTest, ListsThatNeverEndAreErrors) {
  int page = 0;
  bucket_.set_special([&](const auto& sent) -> std::optional<test::FakeAnswer> {
    if (sent.url.find("comp=list") == std::string::npos) return std::nullopt;
    const std::string body = List("", ++page % 2 ? "one" : "two");
    return test::FakeAnswer{200, {{"content-length", std::to_string(body.size())}}, body, {}};
  });
  const auto listing = Open("az://bucket").value()->List("");
  EXPECT_THAT((*listing)->Next(),
              test::IsError(ErrorCode::kBadInput, HasSubstr("the list has no end")));
}

}  // namespace
}  // namespace ndlfs::backends::azure
