// SPDX-License-Identifier: MIT
#include "backends/store/google/google_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
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
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int64_t kNow = 1'700'000'000;

class GoogleTest : public ::testing::Test {
 protected:
  model::Result<std::shared_ptr<const RemoteSource>> Open(const std::string& url) {
    google_.variable = test::Variables(variables_);
    google_.now_s = [] { return kNow; };
    RemoteOptions options;
    options.trusts_looks_for = std::chrono::seconds(0);
    if (is_immutable_) options.trusts_looks_for.reset();
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
  bool is_immutable_ = false;
};

TEST_F(GoogleTest, PublicObjectsAreReadFromGoogleWithoutCredentials) {
  bucket_.Put("a b", "text");
  EXPECT_EQ(Read("a b"), "text");
  EXPECT_THAT(bucket_.sent().back().url,
              StartsWith("https://storage.googleapis.com/bucket/a%20b?ndlfs="));
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
  // The last request is a look at the version that is there.
  const auto read = bucket_.sent().at(bucket_.requests() - 2);
  EXPECT_THAT(read.url, EndsWith("/a?generation=101"));
  EXPECT_EQ(read.Find("If-Match"), "");
}

TEST_F(GoogleTest, AGenerationThatIsGoneIsAChangeEvenWhereNobodyMayList) {
  bucket_.Put("a", "one");
  const auto store = Open("gs://bucket").value()->OpenStore("");
  const auto before = store->Stat("a").value().value();
  bucket_.Put("a", "two");
  bucket_.set_special([](const FakeTransport::Sent& sent) -> std::optional<test::FakeAnswer> {
    const bool is_of_version = sent.url.find("generation=") != std::string::npos;
    if (!is_of_version) return std::nullopt;
    return FakeBucket::Error(403, "AccessDenied");
  });
  EXPECT_THAT(store->Get("a", 100, {.if_match = before.generation}),
              test::IsError(ErrorCode::kStale, testing::_));
}

TEST_F(GoogleTest, NoCacheCanAnswerALookUnlessNothingChanges) {
  bucket_.Put("a", "x");
  std::set<std::string> urls;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Read("a"), "x");
    urls.insert(bucket_.sent().back().url);
  }
  EXPECT_EQ(urls.size(), 3u);
  is_immutable_ = true;
  EXPECT_EQ(Read("a"), "x");
  EXPECT_THAT(bucket_.sent().back().url, EndsWith("/bucket/a"));
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
    variables_["GOOGLE_APPLICATION_CREDENTIALS"] = path;
    options.variable = test::Variables(variables_);
    options.now_s = [this] { return now_; };
    options.client = std::make_shared<HttpClient>(transport_, HttpOptions{});
    return FindCredentials(options);
  }

  const test::TemporaryDirectory folder_;
  int64_t now_ = kNow;
  std::string answer_;
  std::map<std::string, std::string> answers_;  // of other servers, by URL
  std::map<std::string, std::string> variables_;
  std::shared_ptr<FakeTransport> transport_ =
      std::make_shared<FakeTransport>([this](const FakeTransport::Sent& sent) {
        const auto other = answers_.find(sent.url);
        const std::string& answer = other == answers_.end() ? answer_ : other->second;
        return test::FakeAnswer{
            200, {{"content-length", std::to_string(answer.size())}}, answer, {}};
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

class ExternalAccountTest : public GoogleCredentialsTest {
 protected:
  // A file with this source, and with more members.
  static std::string File(const std::string& source, const std::string& more = "") {
    return R"({"type": "external_account", "audience": "//a/b", "subject_token_type": "urn:jwt",
               "credential_source": )" +
           source + more + "}";
  }
  std::string Fails(const std::string& text) {
    const auto found = Find(text);
    if (!found) return found.error().message();
    const auto token = found->tokens->Current();
    return token ? "it has a token" : token.error().message();
  }
  std::string subject() const { return folder_ / "subject"; }
};

TEST_F(ExternalAccountTest, TheTokenOfAFileIsExchanged) {
  test::WriteFile(folder_ / "subject", "sub=ject\n");
  answer_ = R"({"access_token": "one", "expires_in": 3600, "token_type": "Bearer"})";
  const auto tokens = Find(File(R"({"file": ")" + subject() + R"("})")).value().tokens;
  EXPECT_EQ(transport_->sent().size(), 0u);
  EXPECT_EQ(tokens->Current().value(), (object::AccessToken{"one", kNow + 3600}));
  const auto sent = transport_->sent().back();
  EXPECT_EQ(sent.url, "https://sts.googleapis.com/v1/token");
  EXPECT_EQ(sent.body,
            "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&"
            "audience=%2F%2Fa%2Fb&"
            "scope=https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fcloud-platform&"
            "requested_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token&"
            "subject_token=sub%3Dject&subject_token_type=urn%3Ajwt");
  EXPECT_EQ(sent.Find("Authorization"), "");
}

TEST_F(ExternalAccountTest, ClientsAndPayersOfAWorkforceAreTold) {
  test::WriteFile(folder_ / "subject", "t");
  answer_ = R"({"access_token": "one"})";
  const std::string source = R"({"file": ")" + subject() + R"("})";
  const std::string payer = R"(, "workforce_pool_user_project": "p")";
  EXPECT_EQ(Fails(File(source, payer)), "it has a token");
  EXPECT_THAT(transport_->sent().back().body,
              EndsWith("&options=%257B%2522userProject%2522%253A%2522p%2522%257D"));
  EXPECT_EQ(Fails(File(source, payer + R"(, "client_id": "i", "client_secret": "s")")),
            "it has a token");
  EXPECT_EQ(transport_->sent().back().Find("Authorization"), "Basic aTpz");
  EXPECT_THAT(transport_->sent().back().body, Not(HasSubstr("options")));
}

TEST_F(ExternalAccountTest, AServiceAccountIsActedAs) {
  const std::string url = "https://iam.example.org/v1/serviceAccounts/a@b:generateAccessToken";
  answers_["http://169.254.169.254/token"] = R"({"t": "subject"})";
  answers_[url] = R"({"accessToken": "two", "expireTime": "2023-11-14T23:13:20.5Z"})";
  answer_ = R"({"access_token": "one"})";
  const std::string source = R"({"url": "http://169.254.169.254/token",
      "headers": {"Metadata": "True"}, "format": {"type": "json", "subject_token_field_name": "t"}})";
  const auto token =
      Find(File(source, R"(, "service_account_impersonation_url": ")" + url + "\""))
          ->tokens->Current();
  EXPECT_EQ(token.value(), (object::AccessToken{"two", 1'700'003'600}));
  const auto sent = transport_->sent();
  ASSERT_EQ(sent.size(), 3u);
  EXPECT_EQ(sent[0].Find("Metadata"), "True");
  EXPECT_THAT(sent[1].body, HasSubstr("subject_token=subject&"));
  EXPECT_EQ(sent[2].Find("Authorization"), "Bearer one");
  EXPECT_EQ(
      sent[2].body,
      R"({"scope":["https://www.googleapis.com/auth/cloud-platform"],"lifetime":"3600s"})");
}

TEST_F(ExternalAccountTest, ASourceAccountActsAsAnother) {
  answers_["https://iam.example.org/x:y"] =
      R"({"accessToken": "two", "expireTime": "2023-11-14T23:13:20Z"})";
  answer_ = R"({"access_token": "one"})";
  const std::string begin = R"({"type": "impersonated_service_account", "delegates": ["d"],
      "service_account_impersonation_url": "https://iam.example.org/x:y")";
  EXPECT_THAT(Fails(begin + "}"), HasSubstr("there is no source_credentials"));
  EXPECT_EQ(Fails(begin + R"(, "source_credentials": )" + kUser + "}"), "it has a token");
  EXPECT_EQ(transport_->sent().back().Find("Authorization"), "Bearer one");
  EXPECT_THAT(transport_->sent().back().body, HasSubstr(R"("delegates":["d"])"));
}

TEST_F(ExternalAccountTest, WrongFilesAreErrorsWithoutSecrets) {
  test::WriteFile(folder_ / "subject", "hush hush");
  answer_ = R"({"hush": 1})";
  const std::string file = R"({"file": ")" + subject() + "\"";
  const std::map<std::string, std::string> wrong = {
      {File("[]"), "there is no credential_source"},
      {File("{}"), "neither file nor url nor executable"},
      {File(file + "}"), "the answer has no token"},
      {File(file + R"(, "format": {"type": "json"}})"), "no subject_token_field_name"},
      {File(R"({"file": "/nonexistent"})"), "No such file"},
      {File(R"({"url": "http://example.org/?hush"})"), "its url is not https"},
      {File(R"({"url": "https://example.org/?hush", "format":
               {"type": "json", "subject_token_field_name": "t"}})"),
       "the answer has no \"t\""},
      {File(R"({"environment_id": "aws1", "url": "http://169.254.169.254/"})"), "AWS"},
      {File(R"({"executable": {"command": "hush"}})"),
       "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1"},
      {File("{}", R"(, "token_url": "http://example.org/hush")"), "its token_url is not https"},
      {R"({"type": "external_account", "audience": "hush"})",
       "there is no subject_token_type"}};
  for (const auto& [text, why] : wrong) {
    EXPECT_THAT(Fails(text), AllOf(HasSubstr(why), Not(HasSubstr("hush")))) << text;
  }
}

TEST_F(ExternalAccountTest, ACommandThatTheUserAllowsGivesTheToken) {
  answer_ = R"({"access_token": "one"})";
  variables_["GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES"] = "1";
  const auto file = [&](const std::string& answer, const std::string& more = "") {
    test::WriteFile(folder_ / "answer", answer);
    return File(R"({"executable": {"command": "cat )" + (folder_ / "answer") + "\"" + more +
                "}}");
  };
  const std::string good = R"({"version": 1, "success": true, "token_type": "urn:jwt",
                               "id_token": "sub", "expiration_time": 1700000001})";
  EXPECT_EQ(Fails(file(good)), "it has a token");
  EXPECT_THAT(transport_->sent().back().body, HasSubstr("subject_token=sub&"));
  const std::map<std::string, std::string> wrong = {
      {"hush", "no JSON object"},
      {R"({"version": 2})", "no version 1"},
      {R"({"version": 1, "success": false, "code": "hush"})", "it has no success"},
      {R"({"version": 1, "success": true})", "no token"},
      {R"({"version": 1, "success": true, "id_token": "hush", "expiration_time": 1})",
       "its token has ended"}};
  for (const auto& [text, why] : wrong) {
    EXPECT_THAT(Fails(file(text)), AllOf(HasSubstr(why), Not(HasSubstr("hush")))) << text;
  }
  const std::string kept = folder_ / "kept";
  test::WriteFile(folder_ / "kept", good);
  EXPECT_EQ(Fails(file("hush", R"(, "output_file": ")" + kept + "\"")), "it has a token");
  EXPECT_THAT(Fails(File(R"({"executable": {"command": "false"}})")),
              HasSubstr("executable: it has failed"));
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
