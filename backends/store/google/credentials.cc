// SPDX-License-Identifier: MIT
#include "backends/store/google/credentials.h"

#include <cerrno>
#include <chrono>
#include <utility>

#include "backends/store/google/external_account.h"
#include "backends/store/google/jwt.h"
#include "backends/store/google/key_file.h"

namespace ndlfs::backends::google {
namespace {

using object::AccessToken;

constexpr int64_t kLife_s = 3600;
constexpr std::string_view kTokenServer = "https://oauth2.googleapis.com/token";
constexpr std::chrono::milliseconds kMetadataTimeout{3000};

model::Result<AccessToken> SignedToken(const KeyFile& file, int64_t now_s) {
  NDLFS_TRY(const auto email, file.Require("client_email"));
  NDLFS_TRY(const auto key, file.Require("private_key"));
  NDLFS_TRY(auto token, SignToken({email, file.Find("private_key_id"), key}, now_s, kLife_s),
            file.place());
  return AccessToken{std::move(token), now_s + kLife_s};
}

model::Result<AccessToken> RefreshedToken(const KeyFile& file,
                                          const CredentialOptions& options) {
  NDLFS_TRY(const auto id, file.Require("client_id"));
  NDLFS_TRY(const auto secret, file.Require("client_secret"));
  NDLFS_TRY(const auto refresh, file.Require("refresh_token"));
  std::string server = file.Find("token_uri");
  if (server.empty()) server = kTokenServer;
  if (!object::IsSafeForSecrets(server)) {
    return model::BadInput("{}: its token_uri is not https", file.place());
  }
  const auto request = object::FormRequest(server, {{"grant_type", "refresh_token"},
                                                    {"client_id", id},
                                                    {"client_secret", secret},
                                                    {"refresh_token", refresh}});
  NDLFS_TRY(const auto answer, object::AskForSecret(*options.client, request), file.place());
  NDLFS_TRY(auto token, object::ParseTokenAnswer(answer, options.now_s()),
            file.place() + ": " + server);
  return token;
}

model::Result<AccessToken> TokenOf(const KeyFile& file, const CredentialOptions& options) {
  NDLFS_TRY(const auto type, file.Require("type"));
  if (type == "service_account") return SignedToken(file, options.now_s());
  if (type == "authorized_user") return RefreshedToken(file, options);
  if (type == "external_account") return ExchangeToken(file, options);
  if (type == "impersonated_service_account") {
    NDLFS_TRY(const KeyFile source, file.RequireObject("source_credentials"));
    NDLFS_TRY(const auto token, TokenOf(source, options));
    return ActAsServiceAccount(file, token, options);
  }
  return model::Unsupported(
      "{}: credentials of the type {} (a token of gcloud auth print-access-token in a "
      "--token-file works)",
      file.place(), model::Quote(type));
}

model::Result<AccessToken> MetadataToken(const std::string& host,
                                         const CredentialOptions& options) {
  HttpRequest request;
  request.url =
      "http://" + host + "/computeMetadata/v1/instance/service-accounts/default/token";
  request.headers = {{"Metadata-Flavor", "Google"}};
  request.allow_link_local = true;
  request.timeout = kMetadataTimeout;
  NDLFS_TRY(const auto answer, object::AskForSecret(*options.client, request),
            "the metadata server");
  NDLFS_TRY(auto token, object::ParseTokenAnswer(answer, options.now_s()),
            "the metadata server");
  return token;
}

// The path of the file with credentials; empty if there is none.
std::string FindKeyFile(const object::GetVariable& variable) {
  std::string path = variable("GOOGLE_APPLICATION_CREDENTIALS");
  if (!path.empty()) return path;
  std::string folder = variable("CLOUDSDK_CONFIG");
  if (folder.empty()) folder = object::HomeDirectory(variable) + "/.config/gcloud";
  path = folder + "/application_default_credentials.json";
  const auto text = object::ReadSmallFile(path);
  return text && !*text ? "" : path;
}

// The hook for one kind of credentials holds the options, and they the client.
model::Result<GoogleCredentials> OfFile(const std::string& path,
                                        const CredentialOptions& options) {
  NDLFS_TRY(const KeyFile file, KeyFile::Read(path));
  NDLFS_TRY(const auto type, file.Require("type"));
  if (type == "service_account") NDLFS_RETURN_IF_ERROR(SignedToken(file, options.now_s()));
  const auto load = [path, options]() -> model::Result<AccessToken> {
    NDLFS_TRY(const KeyFile now, KeyFile::Read(path));
    return TokenOf(now, options);
  };
  return GoogleCredentials{.tokens = object::MakeTokenSource(load, options.now_s),
                           .project = file.Find("quota_project_id")};
}

}  // namespace

model::Result<GoogleCredentials> FindCredentials(const CredentialOptions& options) {
  if (!options.token_file.empty()) {
    return GoogleCredentials{.tokens = object::MakeFileTokens(options.token_file)};
  }
  const std::string key = options.variable("GS_ACCESS_KEY_ID");
  if (!key.empty()) {
    const std::string secret = options.variable("GS_SECRET_ACCESS_KEY");
    if (secret.empty()) {
      return model::BadInput("GS_ACCESS_KEY_ID without GS_SECRET_ACCESS_KEY");
    }
    return GoogleCredentials{.hmac_key =
                                 object::Credentials{.access_key = key, .secret_key = secret}};
  }
  if (const auto path = FindKeyFile(options.variable); !path.empty()) {
    return OfFile(path, options);
  }
  std::string host = options.variable("GCE_METADATA_HOST");
  if (host.empty() && options.asks_metadata_server) host = "metadata.google.internal";
  if (host.empty()) return GoogleCredentials{};
  return GoogleCredentials{
      .tokens = object::MakeTokenSource(
          [host, options] { return MetadataToken(host, options); }, options.now_s)};
}

}  // namespace ndlfs::backends::google
