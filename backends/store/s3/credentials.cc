// SPDX-License-Identifier: MIT
#include "backends/store/s3/credentials.h"

#include <cerrno>
#include <chrono>
#include <optional>
#include <utility>

#include "backends/base/json.h"
#include "backends/base/percent_encoding.h"
#include "backends/store/http/url.h"
#include "backends/store/object/credential_process.h"
#include "backends/store/object/xml_answers.h"
#include "backends/store/s3/aws_profile.h"

namespace ndlfs::backends::s3 {
namespace {

constexpr uint64_t kLargestAnswer = 64 << 10;
constexpr std::chrono::milliseconds kMetadataTimeout{2000};
constexpr std::string_view kEcsHost = "http://169.254.170.2";

using object::Credentials;
using object::ParseErrorAnswer;
using object::ParseUtcTime;
using Found = model::Result<std::optional<Credentials>>;

// The names that documents with credentials have for their members.
struct MemberNames {
  const char* session_token;
};

// Never quotes the document.
model::Result<Credentials> FromJson(std::string_view text, const MemberNames& names) {
  const auto json = ParseJson(text, 1000);
  if (!json || !json->is_object()) return model::BadInput("the answer is no JSON object");
  const auto member = [&](const char* name) -> std::string {
    const auto found = json->find(name);
    return found != json->end() && found->is_string() ? found->get<std::string>() : "";
  };
  Credentials credentials;
  credentials.access_key = member("AccessKeyId");
  credentials.secret_key = member("SecretAccessKey");
  credentials.session_token = member(names.session_token);
  credentials.expires_s = ParseUtcTime(member("Expiration")).value_or(0) / 1'000'000'000;
  if (credentials.access_key.empty() || credentials.secret_key.empty()) {
    return model::BadInput("the answer has no keys");
  }
  return credentials;
}

// One look for credentials.
class Search {
 public:
  explicit Search(const CredentialProvider::Options& options) : options_(options) {}

  model::Result<Credentials> Run() {
    NDLFS_TRY(profile_, ReadAwsProfile(options_.variable));
    for (const auto step : {&Search::InEnvironment, &Search::ByWebIdentity, &Search::InProfile,
                            &Search::InContainer, &Search::InInstance}) {
      NDLFS_TRY(auto found, (this->*step)());
      if (found) return *std::move(found);
    }
    return model::IoError(
        EACCES,
        options_.asks_metadata_server
            ? "no AWS credentials in the environment, in the profile or from a metadata "
              "service (--no-sign-request reads public buckets)"
            : "no AWS credentials in the environment or in the profile (in urls.yaml, "
              "anonymous: true is for public buckets, and metadata-server: true lets "
              "ndlfs ask the machine)");
  }

 private:
  std::string Variable(const char* name) const { return options_.variable(name); }

  Found InEnvironment() {
    Credentials credentials = {.access_key = Variable("AWS_ACCESS_KEY_ID"),
                               .secret_key = Variable("AWS_SECRET_ACCESS_KEY"),
                               .session_token = Variable("AWS_SESSION_TOKEN")};
    if (credentials.access_key.empty()) return std::nullopt;
    if (credentials.secret_key.empty()) {
      return model::BadInput("AWS_ACCESS_KEY_ID without AWS_SECRET_ACCESS_KEY");
    }
    return credentials;
  }

  Found ByWebIdentity() {
    const std::string file = Variable("AWS_WEB_IDENTITY_TOKEN_FILE");
    if (file.empty()) return std::nullopt;
    const std::string role = Variable("AWS_ROLE_ARN");
    if (role.empty())
      return model::BadInput("AWS_WEB_IDENTITY_TOKEN_FILE without AWS_ROLE_ARN");
    return AssumeRole(file, role, Variable("AWS_ROLE_SESSION_NAME"));
  }

  Found InProfile() {
    const std::string where = "profile " + model::Quote(profile_.name);
    const std::string access_key = profile_.Find("aws_access_key_id");
    const std::string token_file = profile_.Find("web_identity_token_file");
    const std::string process = profile_.Find("credential_process");
    if (!token_file.empty()) {
      return AssumeRole(token_file, profile_.Find("role_arn"),
                        profile_.Find("role_session_name"));
    }
    if (!profile_.Find("role_arn").empty()) return OnlyByProcess(where, "role_arn");
    if (!access_key.empty()) {
      Credentials credentials = {.access_key = access_key,
                                 .secret_key = profile_.Find("aws_secret_access_key"),
                                 .session_token = profile_.Find("aws_session_token")};
      if (!credentials.secret_key.empty()) return credentials;
      return model::BadInput("{}: aws_access_key_id without aws_secret_access_key", where);
    }
    if (!process.empty()) {
      NDLFS_TRY(const std::string text, object::RunCredentialProcess(process), where);
      NDLFS_TRY(auto credentials, FromJson(text, {.session_token = "SessionToken"}),
                where + ": credential_process");
      return credentials;
    }
    for (const char* setting : {"sso_session", "sso_start_url"}) {
      if (!profile_.Find(setting).empty()) return OnlyByProcess(where, setting);
    }
    return std::nullopt;
  }

  static model::Failure OnlyByProcess(std::string_view where, std::string_view setting) {
    return model::Unsupported(
        "{}: {} needs the AWS tools: set credential_process = aws configure export-credentials "
        "--profile NAME in another profile",
        where, setting);
  }

  Found AssumeRole(const std::string& token_file, const std::string& role,
                   const std::string& session) {
    NDLFS_TRY(const std::string token, object::ReadTokenFile(token_file), "web identity");
    std::string url = Variable("AWS_ENDPOINT_URL_STS");
    if (url.empty()) url = "https://sts." + options_.region + ".amazonaws.com/";
    HttpRequest request;
    request.method = HttpMethod::kPost;
    request.url = url;
    request.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
    request.body = "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=" +
                   PercentEncode(role, false) + "&RoleSessionName=" +
                   PercentEncode(session.empty() ? "ndlfs" : session, false) +
                   "&WebIdentityToken=" + PercentEncode(token, false);
    request.follow_redirects = false;
    NDLFS_TRY(const std::string answer, Ask(request), "web identity");
    return ParseAssumedRole(answer);
  }

  Found InContainer() {
    std::string url = Variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    const std::string relative = Variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    if (!relative.empty()) url = std::string(kEcsHost) + relative;
    if (url.empty()) return std::nullopt;
    std::string token = Variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
    if (const std::string file = Variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
        !file.empty()) {
      NDLFS_TRY(token, object::ReadTokenFile(file), "credentials of the container");
    }
    HttpHeaders headers;
    if (!token.empty()) headers.push_back({"Authorization", token});
    NDLFS_TRY(const std::string text, AskMetadata(HttpMethod::kGet, url, std::move(headers)),
              "credentials of the container");
    return FromJson(text, {.session_token = "Token"});
  }

  // Where no such service answers, there are none of these.
  Found InInstance() {
    const bool is_disabled = Variable("AWS_EC2_METADATA_DISABLED") == "true";
    if (is_disabled || !options_.asks_metadata_server) return std::nullopt;
    std::string service = Variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    if (service.empty()) service = "http://169.254.169.254";
    while (service.ends_with('/')) service.pop_back();
    const auto token = AskMetadata(HttpMethod::kPut, service + "/latest/api/token",
                                   {{"X-aws-ec2-metadata-token-ttl-seconds", "21600"}});
    if (!token) return std::nullopt;
    const HttpHeaders headers = {{"X-aws-ec2-metadata-token", *token}};
    const std::string folder = service + "/latest/meta-data/iam/security-credentials/";
    const auto roles = AskMetadata(HttpMethod::kGet, folder, headers);
    if (!roles) return std::nullopt;  // the instance has no role
    const std::string role = roles->substr(0, roles->find('\n'));
    constexpr std::string_view kWhere = "credentials of the instance";
    NDLFS_TRY(const std::string text,
              AskMetadata(HttpMethod::kGet, folder + PercentEncode(role, false), headers),
              kWhere);
    NDLFS_TRY(auto credentials, FromJson(text, {.session_token = "Token"}), kWhere);
    return credentials;
  }

  model::Result<std::string> AskMetadata(HttpMethod method, const std::string& url,
                                         HttpHeaders headers) const {
    HttpRequest request;
    request.method = method;
    request.url = url;
    request.headers = std::move(headers);
    request.follow_redirects = false;
    request.allow_link_local = true;
    request.timeout = kMetadataTimeout;
    return Ask(request);
  }

  // The body of a good answer. Bodies of others are not quoted: they may have anything.
  model::Result<std::string> Ask(HttpRequest& request) const {
    request.limit = kLargestAnswer;
    NDLFS_TRY(HttpResponse response, options_.client->Send(request));
    if (response.is_success()) return std::move(response.body);
    const auto error = ParseErrorAnswer(response.body);
    return model::IoError(EACCES, UrlForMessages(request.url) + ": status " +
                                      std::to_string(response.status) +
                                      (error ? " (" + model::OneLine(error->code) + ")" : ""));
  }

  const CredentialProvider::Options& options_;
  AwsProfile profile_;
};

}  // namespace

CredentialProvider::CredentialProvider(Options options)
    : credentials_([options] { return Search(options).Run(); }, options.now_s) {}

}  // namespace ndlfs::backends::s3
