// SPDX-License-Identifier: MIT
#include "backends/store/google/google_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "backends/store/google/credentials.h"
#include "backends/store/google/jwt.h"
#include "tests/support/fake_bucket.h"
#include "tests/support/fake_http.h"
#include "tests/support/python.h"
#include "tests/support/result.h"

namespace ndlfs::backends::google {
namespace {

using model::ErrorCode;
using test::FakeBucket;
using test::FakeTransport;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int64_t kNow = 1'700'000'000;

class GoogleTest : public ::testing::Test {
 protected:
  model::Result<std::shared_ptr<const RemoteSource>> Open(const std::string& url) {
    google_.variable = test::Variables(variables_);
    google_.now_s = [] { return kNow; };
    const RemoteOptions options = {.trusts_looks_for = std::chrono::seconds(0)};
    return OpenGoogleSource(url, google_, options, bucket_.client());
  }
  // The text of the object, or the error.
  std::string Read(const std::string& key) {
    const auto source = Open("gs://bucket");
    if (!source) return source.error().message();
    const auto value = (*source)->OpenFile(key)->Get("", 1000);
    if (!value) return value.error().message();
    return *value ? std::string(AsText((*value)->bytes.span())) : "absent";
  }
  std::string LastHeader(std::string_view name) const {
    return bucket_.sent().back().Find(name);
  }

  FakeBucket bucket_{"bucket", FakeBucket::Kind::kGoogle};
  std::map<std::string, std::string> variables_ = {{"HOME", "/nonexistent"}};
  GoogleOptions google_;
};

TEST_F(GoogleTest, PublicObjectsAreReadFromGoogleWithoutCredentials) {
  bucket_.Put("a b", "text");
  EXPECT_EQ(Read("a b"), "text");
  EXPECT_EQ(bucket_.sent().back().url, "https://storage.googleapis.com/bucket/a%20b");
  EXPECT_EQ(LastHeader("Accept-Encoding"), "gzip");
  EXPECT_EQ(LastHeader("Authorization"), "");
  EXPECT_EQ(Read("none"), "absent");
}

TEST_F(GoogleTest, AReadNamesTheGeneration) {
  bucket_.Put("a", "one");
  const auto file = Open("gs://bucket").value()->OpenFile("a");
  const auto before = file->Stat("").value().value();
  EXPECT_EQ(before.generation.tag(), "generation 101");
  bucket_.Put("a", "two");  // with the same ETag
  EXPECT_THAT(file->Get("", 100, {.if_match = before.generation}),
              test::IsError(ErrorCode::kStale, testing::_));
  EXPECT_EQ(LastHeader("x-goog-if-generation-match"), "101");
  EXPECT_EQ(LastHeader("If-Match"), "");
}

TEST_F(GoogleTest, ServersAndBucketsAreChecked) {
  variables_["STORAGE_EMULATOR_HOST"] = "localhost:9000";
  bucket_.Put("a", "x");
  EXPECT_EQ(Read("a"), "x");
  EXPECT_THAT(bucket_.sent().back().url, StartsWith("http://localhost:9000/bucket"));
  google_.endpoint = "ftp://host";
  EXPECT_THAT(Read("a"), HasSubstr("endpoint"));
  google_.endpoint = "";
  for (const char* url : {"gs://", "gs://x/y", "gs://bucket/a//b", "gs://bucket/../b"}) {
    EXPECT_THAT(Open(url), test::IsError(ErrorCode::kBadInput, testing::_)) << url;
  }
}

TEST_F(GoogleTest, HmacKeysSignInTheWordsOfGoogle) {
  bucket_.Put("a", "x");
  variables_.merge(std::map<std::string, std::string>{{"GS_ACCESS_KEY_ID", "KEY"},
                                                      {"GS_SECRET_ACCESS_KEY", "SECRET"},
                                                      {"GOOGLE_CLOUD_PROJECT", "p"}});
  google_.requester_pays = true;
  EXPECT_EQ(Read("a"), "x");
  EXPECT_EQ(LastHeader("x-goog-user-project"), "p");
  EXPECT_THAT(
      LastHeader("authorization"),
      AllOf(StartsWith("GOOG4-HMAC-SHA256 Credential=KEY/20231114/auto/storage/goog4_request"),
            HasSubstr("host;x-goog-content-sha256;x-goog-date;x-goog-user-project"),
            Not(HasSubstr("SECRET"))));
  variables_.erase("GS_SECRET_ACCESS_KEY");
  EXPECT_THAT(Read("a"), HasSubstr("without GS_SECRET_ACCESS_KEY"));
}

// Files of credentials, and a server for tokens.
class GoogleCredentialsTest : public ::testing::Test {
 protected:
  model::Result<GoogleCredentials> Find(const std::string& text) {
    const auto path = folder_ / "key.json";
    test::WriteFile(path, text);
    CredentialOptions options;
    options.variable = test::Variables({{"GOOGLE_APPLICATION_CREDENTIALS", path}});
    options.now_s = [this] { return now_; };
    options.client = std::make_shared<HttpClient>(transport_, HttpOptions{});
    return FindCredentials(options);
  }

  const test::TemporaryDirectory folder_;
  int64_t now_ = kNow;
  std::string answer_;
  std::shared_ptr<FakeTransport> transport_ =
      std::make_shared<FakeTransport>([this](const FakeTransport::Sent&) {
        return test::FakeAnswer{
            200, {{"content-length", std::to_string(answer_.size())}}, answer_, {}};
      });
};

constexpr const char* kUser =
    R"({"type": "authorized_user", "client_id": "i&d", "client_secret": "s", "refresh_token": "r"})";

TEST_F(GoogleCredentialsTest, TokensAreAskedForOnceAndRenewedBeforeTheirEnd) {
  const auto tokens = Find(kUser).value().tokens;
  EXPECT_EQ(transport_->sent().size(), 0u);
  answer_ = R"({"access_token": "one", "expires_in": 3600})";
  for (int i = 0; i < 100; ++i) EXPECT_EQ(tokens->Current()->text, "one");
  ASSERT_EQ(transport_->sent().size(), 1u);
  EXPECT_EQ(transport_->sent()[0].url, "https://oauth2.googleapis.com/token");
  EXPECT_EQ(transport_->sent()[0].body,
            "grant_type=refresh_token&client_id=i%26d&client_secret=s&refresh_token=r");
  answer_ = R"({"access_token": "two", "expires_in": "3600"})";
  now_ += 3299;
  EXPECT_EQ(tokens->Current()->text, "one");
  now_ += 2;
  EXPECT_EQ(tokens->Current()->text, "two");
}

TEST_F(GoogleCredentialsTest, ATokenIsUsedToItsEndIfItCannotBeRenewed) {
  const auto tokens = Find(kUser).value().tokens;
  answer_ = R"({"access_token": "one", "expires_in": 30})";
  EXPECT_EQ(tokens->Current()->text, "one");
  answer_ = "<html>";
  now_ += 28;
  EXPECT_EQ(tokens->Current()->text, "one");
  now_ += 20;
  EXPECT_THAT(tokens->Current(),
              test::IsError(ErrorCode::kBadInput, HasSubstr("the answer is no JSON object")));
}

TEST_F(GoogleCredentialsTest, WrongFilesAreErrorsWithoutSecrets) {
  const std::map<std::string, std::string> wrong = {
      {R"({"type": "service_account", "private_key": "hush)", "no valid JSON object"},
      {R"([1])", "no valid JSON object"},
      {R"({"private_key": "hush"})", "there is no type"},
      {R"({"type": "service_account", "private_key": "hush"})", "there is no client_email"},
      {R"({"type": "service_account", "client_email": "e", "private_key": "hush"})",
       "no RSA key"}};
  for (const auto& [text, why] : wrong) {
    EXPECT_THAT(Find(text), test::IsError(ErrorCode::kBadInput,
                                          AllOf(HasSubstr(why), Not(HasSubstr("hush")))));
  }
  const auto tokens =
      Find(R"({"type": "authorized_user", "client_id": "hush"})").value().tokens;
  EXPECT_THAT(tokens->Current(),
              test::IsError(ErrorCode::kBadInput, HasSubstr("there is no client_secret")));
}

TEST(GoogleJwtTest, EncryptedKeysAskNobodyForAPassword) {
  EXPECT_THAT(SignToken({"e", "",
                         "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n"
                         "-----END ENCRYPTED PRIVATE KEY-----\n"},
                        kNow, 3600),
              test::IsError(ErrorCode::kBadInput, HasSubstr("no RSA key")));
}

TEST(GoogleTokenAnswerTest, WhatIsNoAnswerIsRefused) {
  for (const char* text :
       {"", "{}", "[]", R"({"access_token": ""})", R"({"access_token": 1})",
        R"({"access_token": "a\nb"})", R"({"access_token": "a", "expires_in": -1})",
        R"({"access_token": "a", "expires_in": "x"})"}) {
    EXPECT_THAT(object::ParseTokenAnswer(text, kNow),
                test::IsError(ErrorCode::kBadInput, testing::_))
        << text;
  }
  EXPECT_EQ(object::ParseTokenAnswer(
                R"({"access_token": "a", "expires_in": 18446744073709551615})", 0)
                ->expires_s,
            366 * 86'400);
}

}  // namespace
}  // namespace ndlfs::backends::google
