// SPDX-License-Identifier: MIT
#include "backends/store/google/credentials.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/base/json.h"
#include "backends/base/percent_encoding.h"
#include "backends/store/google/jwt.h"
#include "backends/store/http/url.h"
#include "backends/store/object/credential_process.h"
#include "backends/store/object/environment.h"
#include "backends/store/object/token.h"
#include "backends/store/object/xml_answers.h"
#include "model/base64.h"
#include "model/error.h"

namespace ndlfs::backends::google {
namespace {

using model::Result;
using object::AccessToken;

// A file of credentials of Google's tools, or an object in it. Most of its values are secret:
// no message has one.
class KeyFile {
 public:
  // An error if there is no such file, or it is no JSON object.
  static model::Result<KeyFile> Read(const std::string& path);

  // The text of this name; empty if there is none.
  std::string Find(const char* name) const;
  // kBadInput if there is none.
  model::Result<std::string> Require(const char* name) const;
  // The object of this name.
  std::optional<KeyFile> FindObject(const char* name) const;
  model::Result<KeyFile> RequireObject(const char* name) const;
  // The value of this name; null if there is none. It lives as long as this object.
  const Json* FindValue(const char* name) const;

  // The path of the file, and the name of the object in it, for messages.
  const std::string& place() const { return place_; }
  const Json& json() const { return json_; }

 private:
  KeyFile(std::string place, Json json) : place_(std::move(place)), json_(std::move(json)) {}

  std::string place_;
  Json json_;
};

model::Result<KeyFile> KeyFile::Read(const std::string& path) {
  NDLFS_TRY(const auto text, object::ReadSmallFile(path));
  if (!text) return model::Propagate(model::IoError(ENOENT, path).value());
  auto json = ParseJson(*text, 1000);
  // The message of the parser quotes the text, which has secrets.
  if (!json || !json->is_object()) return model::BadInput("{}: no valid JSON object", path);
  return KeyFile(path, *std::move(json));
}

const Json* KeyFile::FindValue(const char* name) const {
  const auto found = json_.find(name);
  return found == json_.end() ? nullptr : &*found;
}

std::string KeyFile::Find(const char* name) const {
  const Json* const found = FindValue(name);
  return found != nullptr && found->is_string() ? found->get<std::string>() : "";
}

model::Result<std::string> KeyFile::Require(const char* name) const {
  std::string text = Find(name);
  if (text.empty()) return model::BadInput("{}: there is no {} in it", place_, name);
  return text;
}

std::optional<KeyFile> KeyFile::FindObject(const char* name) const {
  const Json* const found = FindValue(name);
  if (found == nullptr || !found->is_object()) return std::nullopt;
  return KeyFile(place_ + ": " + name, *found);
}

model::Result<KeyFile> KeyFile::RequireObject(const char* name) const {
  auto object = FindObject(name);
  if (!object) return model::BadInput("{}: there is no {} in it", place_, name);
  return *std::move(object);
}

// Tokens that Google gives for credentials of others: workload identity federation
// (google.aip.dev/auth/4117), and service accounts that another account may act as.

constexpr std::string_view kExchangeServer = "https://sts.googleapis.com/v1/token";
constexpr const char* kGrant = "urn:ietf:params:oauth:grant-type:token-exchange";
constexpr const char* kAccessToken = "urn:ietf:params:oauth:token-type:access_token";
constexpr const char* kSaml = "urn:ietf:params:oauth:token-type:saml2";
constexpr const char* kImpersonationUrl = "service_account_impersonation_url";
constexpr size_t kLargestSubject = 64 << 10;
constexpr int64_t kUsualLife_s = 3600;

// `text`, or its field of this name if `source` says that it is JSON.
Result<std::string> TokenIn(std::string text, const KeyFile& source) {
  const auto format = source.FindObject("format");
  if (format && format->Find("type") == "json") {
    NDLFS_TRY(const auto field, format->Require("subject_token_field_name"));
    const auto json = ParseJson(text, 1000);
    const bool has_field =
        json && json->is_object() && json->contains(field) && json->find(field)->is_string();
    if (!has_field) {
      return model::BadInput("{}: the answer has no {}", source.place(), model::Quote(field));
    }
    text = json->find(field)->get<std::string>();
  }
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  if (!object::IsToken(text)) {
    return model::BadInput("{}: the answer has no token", source.place());
  }
  return text;
}

Result<std::string> TokenOfFile(const KeyFile& source) {
  const std::string path = source.Find("file");
  NDLFS_TRY(auto text, object::ReadSmallFile(path, kLargestSubject), source.place());
  if (!text) {
    return model::Propagate(model::IoError(ENOENT, path).value(), source.place());
  }
  return TokenIn(*std::move(text), source);
}

// Metadata servers of other clouds have link-local addresses, and no https.
Result<std::string> TokenOfUrl(const KeyFile& source, const CredentialOptions& options) {
  HttpRequest request;
  request.url = source.Find("url");
  const auto url = ParseUrl(request.url);
  const bool is_link_local = url && url->scheme == "http" && IsLinkLocalHost(url->host);
  if (!is_link_local && !object::IsSafeForSecrets(request.url)) {
    return model::BadInput("{}: its url is not https", source.place());
  }
  request.allow_link_local = is_link_local;
  if (const auto headers = source.FindObject("headers")) {
    for (const auto& [name, value] : headers->json().items()) {
      if (value.is_string()) request.headers.push_back({name, value.get<std::string>()});
    }
  }
  NDLFS_TRY(auto text, object::AskForSecret(*options.client, request), source.place());
  return TokenIn(std::move(text), source);
}

// The token in the answer of a command; nullopt if it has ended. `needs_end`: an answer without
// an end is an error.
Result<std::optional<std::string>> TokenOfAnswer(std::string_view text,
                                                 const std::string& place, int64_t now_s,
                                                 bool needs_end) {
  const auto json = ParseJson(text, 1000);
  if (!json || !json->is_object()) {
    return model::BadInput("{}: the answer is no JSON object", place);
  }
  const auto has = [&](const char* name, const Json& value) {
    const auto found = json->find(name);
    return found != json->end() && *found == value;
  };
  if (!has("version", 1)) return model::BadInput("{}: the answer has no version 1", place);
  if (!has("success", true)) return model::BadInput("{}: it has no success", place);
  const auto end = json->find("expiration_time");
  const bool has_end = end != json->end() && end->is_number_integer();
  if (needs_end && !has_end) {
    return model::BadInput("{}: the answer has no expiration_time", place);
  }
  if (has_end && end->get<int64_t>() <= now_s) return std::nullopt;
  const auto token = json->find(has("token_type", kSaml) ? "saml_response" : "id_token");
  const bool has_token = token != json->end() && token->is_string();
  std::string found = has_token ? token->get<std::string>() : "";
  if (!object::IsToken(found)) return model::BadInput("{}: the answer has no token", place);
  return found;
}

// "NAME" of ".../serviceAccounts/NAME:generateAccessToken".
std::string AccountIn(std::string_view url) {
  const size_t slash = url.rfind('/');
  const std::string_view last = url.substr(slash == url.npos ? 0 : slash + 1);
  return std::string(last.substr(0, last.find(':')));
}

Result<std::string> TokenOfCommand(const KeyFile& file, const KeyFile& source,
                                   const CredentialOptions& options) {
  constexpr const char* kOptIn = "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES";
  if (options.variable(kOptIn) != "1") {
    return model::BadInput("{}: ndlfs runs its executable only if {}=1 is set", source.place(),
                           kOptIn);
  }
  NDLFS_TRY(const KeyFile executable, source.RequireObject("executable"));
  NDLFS_TRY(const auto command, executable.Require("command"));
  const std::string output = executable.Find("output_file");
  if (!output.empty()) {
    NDLFS_TRY(const auto kept, object::ReadSmallFile(output, kLargestSubject));
    auto token = kept ? TokenOfAnswer(*kept, output, options.now_s(), true)
                      : Result<std::optional<std::string>>(std::nullopt);
    if (token && *token) return **std::move(token);
  }
  object::ProcessOptions process = {.name = executable.place()};
  const Json* const millis = executable.FindValue("timeout_millis");
  if (millis != nullptr && millis->is_number_integer()) {
    process.patience =
        std::chrono::milliseconds(std::clamp<int64_t>(millis->get<int64_t>(), 5000, 120'000));
  }
  const auto set = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) {
      process.variables.push_back(fmt::format("GOOGLE_EXTERNAL_ACCOUNT_{}={}", name, value));
    }
  };
  set("AUDIENCE", file.Find("audience"));
  set("TOKEN_TYPE", file.Find("subject_token_type"));
  set("IMPERSONATED_EMAIL", AccountIn(file.Find(kImpersonationUrl)));
  set("OUTPUT_FILE", output);
  set("INTERACTIVE", "0");
  NDLFS_TRY(const auto text, object::RunCredentialProcess(command, process));
  NDLFS_TRY(auto token,
            TokenOfAnswer(text, executable.place(), options.now_s(), !output.empty()));
  if (!token) return model::BadInput("{}: its token has ended", executable.place());
  return *std::move(token);
}

Result<std::string> SubjectToken(const KeyFile& file, const CredentialOptions& options) {
  NDLFS_TRY(const KeyFile source, file.RequireObject("credential_source"));
  if (!source.Find("file").empty()) return TokenOfFile(source);
  // Sources of AWS have a URL, too, which gives keys and no token.
  const bool is_of_aws = source.FindValue("environment_id") != nullptr;
  if (!is_of_aws && !source.Find("url").empty()) return TokenOfUrl(source, options);
  if (source.FindObject("executable")) return TokenOfCommand(file, source, options);
  return model::Unsupported(
      "{}: {} (a token of gcloud auth print-access-token in a --token-file works)",
      source.place(),
      is_of_aws ? "credentials of AWS in place of those of Google"
                : "neither file nor url nor executable");
}

// The body of a request for a token of a service account.
Json ImpersonationBody(const KeyFile& file) {
  int64_t life_s = kUsualLife_s;
  if (const auto settings = file.FindObject("service_account_impersonation")) {
    const Json* const given = settings->FindValue("token_lifetime_seconds");
    if (given != nullptr && given->is_number_integer()) life_s = given->get<int64_t>();
  }
  Json body = {{"scope", Json::array({kScope})}, {"lifetime", fmt::format("{}s", life_s)}};
  const Json* const delegates = file.FindValue("delegates");
  if (delegates != nullptr && delegates->is_array() && !delegates->empty()) {
    body["delegates"] = *delegates;
  }
  return body;
}

Result<AccessToken> ParseImpersonationAnswer(std::string_view text) {
  const auto json = ParseJson(text, 1000);
  if (!json || !json->is_object()) return model::BadInput("the answer is no JSON object");
  const auto text_of = [&](const char* name) {
    const auto found = json->find(name);
    return found != json->end() && found->is_string() ? found->get<std::string>() : "";
  };
  AccessToken token = {text_of("accessToken"), 0};
  if (!object::IsToken(token.text)) return model::BadInput("the answer has no accessToken");
  const auto end_ns = object::ParseUtcTime(text_of("expireTime"));
  if (!end_ns) return model::BadInput("the answer has no expireTime");
  token.expires_s = *end_ns / 1'000'000'000;
  return token;
}

// The token of the service account that service_account_impersonation_url of the file names,
// for the holder of `token`.
Result<AccessToken> ActAsServiceAccount(const KeyFile& file, const AccessToken& token,
                                        const CredentialOptions& options) {
  NDLFS_TRY(const auto url, file.Require(kImpersonationUrl));
  if (!object::IsSafeForSecrets(url)) {
    return model::BadInput("{}: its {} is not https", file.place(), kImpersonationUrl);
  }
  HttpRequest request;
  request.method = HttpMethod::kPost;
  request.url = url;
  request.headers = {{"Content-Type", "application/json"},
                     {"Authorization", "Bearer " + token.text}};
  request.body = ImpersonationBody(file).dump();
  NDLFS_TRY(const auto answer, object::AskForSecret(*options.client, request), file.place());
  NDLFS_TRY(auto found, ParseImpersonationAnswer(answer),
            file.place() + ": " + UrlForMessages(url));
  return found;
}

// The token for a file of the type external_account. Its credential_source gives a token: a
// file, a URL or, with GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1, a command. The token server
// that the file names exchanges this token for one of Google. kUnsupported for other sources.
// All URLs come from the file, which is the user's own; tokens are sent by https alone, or to
// this machine.
Result<AccessToken> ExchangeToken(const KeyFile& file, const CredentialOptions& options) {
  NDLFS_TRY(const auto audience, file.Require("audience"));
  NDLFS_TRY(const auto type, file.Require("subject_token_type"));
  const std::string server =
      object::FirstNotEmpty({file.Find("token_url"), std::string(kExchangeServer)});
  if (!object::IsSafeForSecrets(server)) {
    return model::BadInput("{}: its token_url is not https", file.place());
  }
  NDLFS_TRY(const auto subject, SubjectToken(file, options));
  object::FormFields form = {{"grant_type", kGrant},     {"audience", audience},
                             {"scope", kScope},          {"requested_token_type", kAccessToken},
                             {"subject_token", subject}, {"subject_token_type", type}};
  const std::string id = file.Find("client_id");
  const std::string payer = file.Find("workforce_pool_user_project");
  if (id.empty() && !payer.empty()) {
    form.push_back({"options", PercentEncode(Json{{"userProject", payer}}.dump(), false)});
  }
  HttpRequest request = object::FormRequest(server, form);
  if (!id.empty()) {
    request.headers.push_back(
        {"Authorization",
         "Basic " + model::EncodeBase64(AsBytes(id + ":" + file.Find("client_secret")))});
  }
  NDLFS_TRY(const auto answer, object::AskForSecret(*options.client, request), file.place());
  NDLFS_TRY(auto token, object::ParseTokenAnswer(answer, options.now_s()),
            file.place() + ": " + UrlForMessages(server));
  if (file.Find(kImpersonationUrl).empty()) return token;
  return ActAsServiceAccount(file, token, options);
}

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
