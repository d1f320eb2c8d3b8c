// SPDX-License-Identifier: MIT
#include "backends/store/schemes/url_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/python.h"
#include "tests/support/result.h"

namespace ndlfs::backends {
namespace {

using model::ErrorCode;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

model::Result<UrlRules> Parse(const std::string& text) {
  return UrlRules::Parse(text, "urls.yaml", "/home/me");
}

TEST(UrlRulesTest, TheLongestPrefixCounts) {
  const auto rules = Parse(
                         "s3://bucket/: {region: all, anonymous: true}\n"
                         "s3://bucket/a b: {region: part}\n"
                         "s3://bucket/a b/c/: {region: inner}\n")
                         .value();
  const auto region_of = [&](const char* url) {
    const UrlRule* rule = rules.Find(ParseUrl(url).value());
    return rule == nullptr ? "none" : rule->region;
  };
  EXPECT_EQ(region_of("s3://bucket"), "all");
  EXPECT_EQ(region_of("s3://bucket/x/y"), "all");
  EXPECT_EQ(region_of("s3://bucket/a b"), "part");
  EXPECT_EQ(region_of("s3://bucket/a bc"), "all");
  EXPECT_EQ(region_of("s3://bucket/a b/c"), "part");
  EXPECT_EQ(region_of("s3://bucket/a b/c/d"), "inner");
  EXPECT_EQ(region_of("s3://bucket2/"), "none");
  EXPECT_EQ(region_of("gs://bucket/"), "none");
}

TEST(UrlRulesTest, SettingsCompleteThoseThatAreThere) {
  const auto rules = Parse(
                         "gs://bucket/:\n"
                         "  endpoint: https://example.org/\n"
                         "  token-file: ~/token\n"
                         "  ca-file: /ca.pem\n"
                         "  project: p\n"
                         "  requester-pays: true\n"
                         "  metadata-server: true\n"
                         "  anonymous: true\n")
                         .value();
  RemoteSettings settings;
  settings.project = "mine";
  rules.all().at(0).ApplyTo(settings);
  EXPECT_EQ(settings.endpoint, "https://example.org/");
  EXPECT_EQ(settings.token_file, "/home/me/token");
  EXPECT_EQ(settings.project, "mine");
  EXPECT_TRUE(settings.requester_pays);
  EXPECT_TRUE(settings.asks_metadata_server);
  EXPECT_FALSE(settings.signs);
  EXPECT_EQ(rules.all().at(0).ca_file, "/ca.pem");
  EXPECT_FALSE(rules.all().at(0).allow);
}

TEST(UrlRulesTest, AFileWithoutRulesIsEmpty) {
  EXPECT_TRUE(Parse("").value().all().empty());
  EXPECT_TRUE(Parse("# nothing\n").value().all().empty());
}

TEST(UrlRulesTest, MistakesAreOneLineWithTheirPlaceAndNoSecret) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"- s3://bucket/\n", "urls.yaml:1:1: expected prefixes"},
      {"bucket: {region: x}\n", "urls.yaml:1:1: \"bucket\" is no URL"},
      {"\"s3://\": {region: x}\n", "urls.yaml:1:1: "},
      {"ftp://host/: {region: x}\n", "urls.yaml:1:1: ndlfs reads URLs of"},
      {"https://me:hush@host/: {region: x}\n", "no user and no query"},
      {"https://host/?sig=hush: {region: x}\n", "no user and no query"},
      {"s3://bucket/: {region: x}\ns3://bucket: {region: y}\n",
       "urls.yaml:2:1: the same prefix is in line 1"},
      {"s3://bucket/:\n  regoin: x\n", "urls.yaml:2:3: unknown setting \"regoin\""},
      {"s3://bucket/:\n  secret-access-key: hush\n", "urls.yaml:2:3: a secret does not belong"},
      {"s3://bucket/:\n  token: hush\n", "urls.yaml:2:3: a secret does not belong"},
      {"s3://bucket/:\n  anonymous: perhaps\n", "urls.yaml:2:14: expected true or false"},
      {"s3://bucket/:\n  region: [x]\n", "urls.yaml:2:11: expected a text"},
      {"s3://bucket/:\n  token-file: token\n", "urls.yaml:2:15: expected a path"},
      {"s3://bucket/:\n  endpoint: https://me:hush@host/\n", "is not http://HOST"},
      {"az://data/:\n  sas-server: http://example.org\n", "sas-server is not https"},
      {"s3://bucket/: us-east-1\n", "urls.yaml:1:15: expected settings"},
      {"s3://bucket/: &a {region: *a}\n", "urls.yaml:1:"},
      {"s3://bucket/: {region: x\n", "urls.yaml:"}};
  for (const auto& [text, why] : wrong) {
    const auto rules = Parse(text);
    EXPECT_THAT(rules, test::IsError(ErrorCode::kBadInput,
                                     AllOf(StartsWith("urls.yaml:"), HasSubstr(why),
                                           Not(HasSubstr("hush")), Not(HasSubstr("\n")))))
        << text;
  }
}

TEST(UrlRulesTest, AFileThatOthersMayWriteToIsRefused) {
  const test::TemporaryDirectory folder;
  const auto path = folder / "urls.yaml";
  test::WriteFile(path, "s3://bucket/: {region: x}\n");
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  EXPECT_EQ(UrlRules::Read(path, "/").value().all().size(), 1u);
  for (const mode_t mode : {0664, 0646}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    EXPECT_THAT(UrlRules::Read(path, "/"),
                test::IsError(ErrorCode::kBadInput, HasSubstr("other users may write to it")));
  }
  EXPECT_THAT(UrlRules::Read(folder / "none", "/"),
              test::IsError(ErrorCode::kIo, HasSubstr("No such file")));
  EXPECT_THAT(UrlRules::Read("/dev/null", "/"),
              test::IsError(ErrorCode::kBadInput, HasSubstr("not a regular file")));
}

}  // namespace
}  // namespace ndlfs::backends
