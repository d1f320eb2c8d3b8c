// SPDX-License-Identifier: MIT
#include "backends/store/s3/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/store/object/credential_process.h"
#include "backends/store/s3/aws_profile.h"
#include "tests/support/fake_bucket.h"
#include "tests/support/fake_http.h"
#include "tests/support/python.h"
#include "tests/support/result.h"

namespace ndlfs::backends::s3 {
namespace {

using model::ErrorCode;
using object::Credentials;
using test::FakeAnswer;
using test::FakeTransport;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kStartTime = 1369353600;  // 2013-05-24 00:00:00

// A home directory, an environment, and servers that answer what a test tells.
class CredentialsTest : public ::testing::Test {
 protected:
  CredentialsTest() {
    std::filesystem::create_directory(home_.path() / ".aws");
    variables_["HOME"] = home_.path().string();
  }

  void WriteCredentials(const std::string& text) {
    test::WriteFile(home_ / ".aws/credentials", text);
  }
  void WriteConfig(const std::string& text) { test::WriteFile(home_ / ".aws/config", text); }

  CredentialProvider& provider() {
    if (!provider_) {
      transport_ = std::make_shared<FakeTransport>([this](const FakeTransport::Sent& sent) {
        const auto found = answers_.find(sent.url);
        return found == answers_.end() ? FakeAnswer{404} : Body(found->second);
      });
      provider_ = std::make_unique<CredentialProvider>(
          CredentialProvider::Options{test::Variables(variables_), [this] { return now_; },
                                      std::make_shared<HttpClient>(transport_, HttpOptions{}),
                                      "us-east-1", asks_metadata_server_});
    }
    return *provider_;
  }
  std::string Key() {
    const auto found = provider().Current();
    return found ? found->access_key + "/" + found->secret_key + "/" + found->session_token
                 : "error: " + found.error().message();
  }
  static FakeAnswer Body(const std::string& text) {
    return {200, {{"content-length", std::to_string(text.size())}}, text, {}};
  }

  const test::TemporaryDirectory home_;
  std::map<std::string, std::string> variables_;
  std::map<std::string, std::string> answers_;
  int64_t now_ = kStartTime;
  bool asks_metadata_server_ = true;
  std::shared_ptr<FakeTransport> transport_;
  std::unique_ptr<CredentialProvider> provider_;
};

TEST_F(CredentialsTest, TheEnvironmentComesFirst) {
  WriteCredentials("[default]\naws_access_key_id=fk\naws_secret_access_key=fs\n");
  variables_["AWS_ACCESS_KEY_ID"] = "k";
  variables_["AWS_SECRET_ACCESS_KEY"] = "s";
  variables_["AWS_SESSION_TOKEN"] = "t";
  EXPECT_EQ(Key(), "k/s/t");
}

TEST_F(CredentialsTest, ProfileOfTheCredentialsFile) {
  WriteCredentials(
      "# mine\n[default]\naws_access_key_id = dk\naws_secret_access_key=ds ; not a part\n"
      "[ other ]\r\naws_access_key_id=ok\r\naws_secret_access_key=o+s/=\r\n"
      "aws_session_token=ot\r\n");
  EXPECT_EQ(Key(), "dk/ds/");
  provider_.reset();
  variables_["AWS_PROFILE"] = "other";
  EXPECT_EQ(Key(), "ok/o+s/=/ot");
}

TEST_F(CredentialsTest, ProfileOfTheConfigFile) {
  WriteConfig("[profile p]\naws_access_key_id=ck\naws_secret_access_key=cs\n");
  variables_["AWS_PROFILE"] = "p";
  EXPECT_EQ(Key(), "ck/cs/");
}

TEST_F(CredentialsTest, FilesMayBeElsewhere) {
  test::WriteFile(home_ / "mine", "[default]\naws_access_key_id=k\naws_secret_access_key=s\n");
  variables_["AWS_SHARED_CREDENTIALS_FILE"] = home_ / "mine";
  EXPECT_EQ(Key(), "k/s/");
}

TEST_F(CredentialsTest, AProfileThatIsNamedMustBeThere) {
  variables_["AWS_PROFILE"] = "none";
  EXPECT_THAT(Key(), HasSubstr("there is no profile \"none\""));
}

TEST_F(CredentialsTest, SettingsInASettingBelongToIt) {
  WriteConfig("[default]\nregion=r\ns3 =\n  endpoint_url = http://e\nnext = n\n");
  const auto profile = ReadAwsProfile(test::Variables(variables_));
  ASSERT_THAT(profile, test::IsOk());
  EXPECT_EQ(profile->Find("s3.endpoint_url"), "http://e");
  EXPECT_EQ(profile->Find("endpoint_url"), "");
  EXPECT_EQ(profile->Find("next"), "n");
}

TEST_F(CredentialsTest, HalfAKeyIsAnErrorWithoutIt) {
  WriteCredentials("[default]\naws_access_key_id=AKIAHALF\n");
  EXPECT_THAT(Key(),
              AllOf(HasSubstr("without aws_secret_access_key"), Not(HasSubstr("AKIAHALF"))));
}

TEST_F(CredentialsTest, CommandOfTheProfile) {
  test::WriteFile(home_ / "it is",
                  "{\"Version\": 1, \"AccessKeyId\": \"pk\", "
                  "\"SecretAccessKey\": \"ps\", \"SessionToken\": \"pt\"}");
  WriteConfig("[default]\ncredential_process = cat '" + (home_ / "it is") + "'\n");
  EXPECT_EQ(Key(), "pk/ps/pt");
}

TEST_F(CredentialsTest, WhatACommandSaysIsNeverQuoted) {
  WriteConfig("[default]\ncredential_process = echo sec-ret\n");
  EXPECT_THAT(Key(), AllOf(HasSubstr("credential_process"), Not(HasSubstr("sec-ret"))));
  provider_.reset();
  WriteConfig("[default]\ncredential_process = false\n");
  EXPECT_THAT(Key(), HasSubstr("it has failed"));
  provider_.reset();
  WriteConfig("[default]\ncredential_process = /nonexistent/program\n");
  EXPECT_THAT(Key(), HasSubstr("/nonexistent/program"));
}

TEST_F(CredentialsTest, WebIdentity) {
  test::WriteFile(home_ / "token", "a+token\n");
  variables_["AWS_WEB_IDENTITY_TOKEN_FILE"] = home_ / "token";
  variables_["AWS_ROLE_ARN"] = "arn:aws:iam::1:role/r";
  answers_["https://sts.us-east-1.amazonaws.com/"] =
      "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>"
      "<AccessKeyId>wk</AccessKeyId><SecretAccessKey>ws</SecretAccessKey>"
      "<SessionToken>wt</SessionToken><Expiration>2013-05-24T01:00:00Z</Expiration>"
      "</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>";
  EXPECT_EQ(Key(), "wk/ws/wt");
  const auto sent = transport_->sent().at(0);
  EXPECT_EQ(sent.method, HttpMethod::kPost);
  EXPECT_THAT(sent.body, AllOf(HasSubstr("RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr"),
                               HasSubstr("WebIdentityToken=a%2Btoken")));
}

TEST_F(CredentialsTest, InstanceMetadataVersionTwo) {
  const std::string service = "http://169.254.169.254/latest/";
  answers_[service + "api/token"] = "tok";
  answers_[service + "meta-data/iam/security-credentials/"] = "my-role\n";
  answers_[service + "meta-data/iam/security-credentials/my-role"] =
      R"({"Code": "Success", "AccessKeyId": "ik", "SecretAccessKey": "is", "Token": "it",
          "Expiration": "2013-05-24T06:00:00Z"})";
  EXPECT_EQ(Key(), "ik/is/it");
  const auto sent = transport_->sent();
  ASSERT_EQ(sent.size(), 3u);
  EXPECT_EQ(sent[0].method, HttpMethod::kPut);
  EXPECT_EQ(sent[2].Find("X-aws-ec2-metadata-token"), "tok");
}

// A document in a store may name a bucket, but makes nobody ask the metadata service.
TEST_F(CredentialsTest, InstanceMetadataAreAskedOnlyIfTheyMayBe) {
  asks_metadata_server_ = false;
  answers_["http://169.254.169.254/latest/api/token"] = "token";
  EXPECT_THAT(Key(), HasSubstr("metadata-server: true"));
  EXPECT_TRUE(transport_->sent().empty());
}

TEST_F(CredentialsTest, InstanceMetadataCanBeSwitchedOff) {
  variables_["AWS_EC2_METADATA_DISABLED"] = "true";
  EXPECT_THAT(Key(), HasSubstr("no AWS credentials"));
  EXPECT_TRUE(transport_->sent().empty());
}

TEST_F(CredentialsTest, ContainerCredentials) {
  variables_["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "/v2/id";
  variables_["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "auth";
  answers_["http://169.254.170.2/v2/id"] =
      R"({"AccessKeyId": "ck", "SecretAccessKey": "cs", "Token": "ct"})";
  EXPECT_EQ(Key(), "ck/cs/ct");
  EXPECT_EQ(transport_->sent().at(0).Find("Authorization"), "auth");
}

TEST_F(CredentialsTest, ExpiringOnesAreRenewedAndOldOnesUsedToTheirEnd) {
  variables_["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://localhost/c";
  const auto answer = [&](const std::string& key, const std::string& end) {
    answers_["http://localhost/c"] =
        R"({"AccessKeyId": ")" + key +
        R"(", "SecretAccessKey": "s", "Token": "t", "Expiration": ")" + end + R"("})";
  };
  answer("one", "2013-05-24T01:00:00Z");
  EXPECT_EQ(Key(), "one/s/t");
  answer("two", "2013-05-24T02:00:00Z");
  EXPECT_EQ(Key(), "one/s/t");
  now_ = kStartTime + 3400;
  EXPECT_EQ(Key(), "two/s/t");
  answers_.clear();
  now_ = kStartTime + 7000;
  EXPECT_EQ(Key(), "two/s/t");
  now_ = kStartTime + 7300;
  EXPECT_THAT(Key(), HasSubstr("status 404"));
}

TEST_F(CredentialsTest, RefusedOnesAreLookedForAgain) {
  WriteCredentials("[default]\naws_access_key_id=one\naws_secret_access_key=s\n");
  const Credentials old = provider().Current().value();
  EXPECT_FALSE(provider().Refuse(old)) << "there are no others";
  WriteCredentials("[default]\naws_access_key_id=two\naws_secret_access_key=s\n");
  EXPECT_EQ(Key(), "one/s/");
  EXPECT_TRUE(provider().Refuse(old));
  EXPECT_EQ(Key(), "two/s/");
  EXPECT_TRUE(provider().Refuse(old)) << "another thread has renewed them";
}

TEST_F(CredentialsTest, AnErrorIsKeptForSomeSeconds) {
  variables_["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://localhost/c";
  EXPECT_THAT(Key(), HasSubstr("status 404"));
  EXPECT_THAT(Key(), HasSubstr("status 404"));
  EXPECT_EQ(transport_->sent().size(), 1u);
  now_ += 60;
  EXPECT_THAT(Key(), HasSubstr("status 404"));
  EXPECT_EQ(transport_->sent().size(), 2u);
}

TEST(SplitCommandTest, QuotesAndBackslashes) {
  EXPECT_THAT(object::SplitCommand("a  'b c' \"d \\\" e\" f\\ g ''").value(),
              ElementsAre("a", "b c", "d \" e", "f g", ""));
  EXPECT_EQ(object::SplitCommand("a 'b"), std::nullopt);
  EXPECT_THAT(object::SplitCommand("$(x) | y").value(), ElementsAre("$(x)", "|", "y"));
}

}  // namespace
}  // namespace ndlfs::backends::s3
