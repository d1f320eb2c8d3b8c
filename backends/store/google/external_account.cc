// SPDX-License-Identifier: MIT
#include "backends/store/google/external_account.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/base/json.h"
#include "backends/base/percent_encoding.h"
#include "backends/store/google/jwt.h"
#include "backends/store/http/url.h"
#include "backends/store/object/credential_process.h"
#include "backends/store/object/xml_answers.h"
#include "model/base64.h"

namespace ndlfs::backends::google {
namespace {

using model::Result;
using object::AccessToken;

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

}  // namespace

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

}  // namespace ndlfs::backends::google
