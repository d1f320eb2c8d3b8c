// SPDX-License-Identifier: MIT
#include "backends/store/azure/credentials.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "backends/base/json.h"
#include "backends/base/percent_encoding.h"
#include "backends/store/http/url.h"
#include "backends/store/object/xml_answers.h"

namespace ndlfs::backends::azure {
namespace {

using object::AccessToken;

constexpr std::string_view kPlanetaryComputer =
    "https://planetarycomputer.microsoft.com/api/sas/v1/token";
constexpr std::string_view kLoginServer = "https://login.microsoftonline.com";
constexpr const char* kScope = "https://storage.azure.com/.default";
constexpr std::string_view kResource = "https%3A%2F%2Fstorage.azure.com%2F";
constexpr std::string_view kMetadataServer =
    "http://169.254.169.254/metadata/identity/oauth2/token";
constexpr const char* kAssertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
constexpr std::chrono::milliseconds kMetadataTimeout{3000};

bool IsSas(std::string_view token) {
  return token.starts_with("sig=") || token.find("&sig=") != token.npos;
}

// "2024-05-01", "2024-05-01T10:20Z" or "2024-05-01T10:20:30Z", in seconds since 1970.
std::optional<int64_t> ParseEnd(std::string text) {
  if (text.size() == 10) text += "T00:00:00Z";
  if (text.size() == 17 && text.ends_with('Z')) text.insert(16, ":00");
  const auto ns = object::ParseUtcTime(text);
  if (!ns) return std::nullopt;
  return *ns / 1'000'000'000;
}

std::string ParameterOf(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view one = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(one.size() + 1, query.size()));
    const size_t equals = one.find('=');
    if (equals == one.npos || one.substr(0, equals) != name) continue;
    return PercentDecodeLeniently(one.substr(equals + 1));
  }
  return "";
}

// A signature that stays as it is. After its end no request is sent.
class FixedSas final : public object::TokenSource {
 public:
  FixedSas(AccessToken sas, object::GetTime now_s)
      : sas_(std::move(sas)), now_s_(std::move(now_s)) {}
  model::Result<AccessToken> Current() override {
    if (sas_.expires_s == 0 || now_s_() < sas_.expires_s) return sas_;
    return model::IoError(
        EACCES, "the shared access signature has ended at " + ParameterOf(sas_.text, "se"));
  }
  bool Refuse(const AccessToken&) override { return false; }

 private:
  const AccessToken sas_;
  const object::GetTime now_s_;
};

model::Result<AzureCredentials> OfSas(std::string_view text, const char* where,
                                      const CredentialOptions& options) {
  NDLFS_TRY(auto sas, ParseSas(text), where);
  return AzureCredentials{.tokens = std::make_shared<FixedSas>(std::move(sas), options.now_s)};
}

// {"msft:expiry": "2024-05-01T10:20:30Z", "token": "sv=..."}
model::Result<AccessToken> ParseSasAnswer(std::string_view text) {
  const auto json = ParseJson(text, 1000);
  if (!json || !json->is_object()) return model::BadInput("the answer is no JSON object");
  const auto member = [&](const char* name) {
    const auto found = json->find(name);
    return found != json->end() && found->is_string() ? found->get<std::string>() : "";
  };
  NDLFS_TRY(auto sas, ParseSas(member("token")), "the token in the answer");
  if (const auto end = ParseEnd(member("msft:expiry"))) sas.expires_s = *end;
  return sas;
}

model::Result<AccessToken> AskForSas(const std::string& url, const CredentialOptions& options) {
  HttpRequest request;
  request.url = url;
  const std::string key = options.variable("PC_SDK_SUBSCRIPTION_KEY");
  if (!key.empty()) request.headers.push_back({"Ocp-Apim-Subscription-Key", key});
  NDLFS_TRY(const auto answer, object::AskForSecret(*options.client, std::move(request)));
  NDLFS_TRY(auto sas, ParseSasAnswer(answer), UrlForMessages(url));
  return sas;
}

model::Result<AccessToken> AskForToken(HttpRequest request, const CredentialOptions& options) {
  const std::string where = UrlForMessages(request.url);
  NDLFS_TRY(const auto answer, object::AskForSecret(*options.client, std::move(request)));
  NDLFS_TRY(auto token, object::ParseTokenAnswer(answer, options.now_s()), where);
  return token;
}

// Where Entra gives tokens to the tenant; empty if no tenant is configured.
model::Result<std::string> LoginUrl(const CredentialOptions& options) {
  const std::string tenant = options.variable("AZURE_TENANT_ID");
  if (tenant.empty()) return model::BadInput("AZURE_TENANT_ID is not set");
  std::string server = object::FirstNotEmpty(
      {options.variable("AZURE_AUTHORITY_HOST"), std::string(kLoginServer)});
  if (!LooksLikeUrl(server)) server.insert(0, "https://");
  while (server.ends_with('/')) server.pop_back();
  if (!object::IsSafeForSecrets(server)) {
    return model::BadInput("AZURE_AUTHORITY_HOST is not https");
  }
  return server + "/" + PercentEncode(tenant, false) + "/oauth2/v2.0/token";
}

model::Result<AzureCredentials> OfApplication(const CredentialOptions& options) {
  NDLFS_TRY(const auto url, LoginUrl(options));
  const std::string client = options.variable("AZURE_CLIENT_ID");
  if (client.empty()) return model::BadInput("AZURE_CLIENT_ID is not set");
  const auto load = [url, client, options]() -> model::Result<AccessToken> {
    const std::string file = options.variable("AZURE_FEDERATED_TOKEN_FILE");
    if (file.empty()) {
      return AskForToken(
          object::FormRequest(url, {{"grant_type", "client_credentials"},
                                    {"client_id", client},
                                    {"client_secret", options.variable("AZURE_CLIENT_SECRET")},
                                    {"scope", kScope}}),
          options);
    }
    NDLFS_TRY(const auto assertion, object::ReadTokenFile(file));
    return AskForToken(object::FormRequest(url, {{"grant_type", "client_credentials"},
                                                 {"client_id", client},
                                                 {"client_assertion_type", kAssertionType},
                                                 {"client_assertion", assertion},
                                                 {"scope", kScope}}),
                       options);
  };
  return AzureCredentials{.tokens = object::MakeTokenSource(load, options.now_s)};
}

model::Result<AccessToken> AskForIdentity(const CredentialOptions& options) {
  std::string server = options.variable("IDENTITY_ENDPOINT");
  HttpRequest request;
  if (server.empty()) {
    server = kMetadataServer;
    request.headers = {{"Metadata", "true"}};
  } else {
    request.headers = {{"X-IDENTITY-HEADER", options.variable("IDENTITY_HEADER")}};
  }
  request.url = fmt::format("{}?api-version=2019-08-01&resource={}", server, kResource);
  const std::string client = options.variable("AZURE_CLIENT_ID");
  if (!client.empty()) request.url += "&client_id=" + PercentEncode(client, false);
  request.allow_link_local = true;
  request.timeout = kMetadataTimeout;
  NDLFS_TRY(auto token, AskForToken(std::move(request), options), "managed identity");
  return token;
}

// Empty if no such server is configured.
model::Result<std::string> SasServer(const CredentialOptions& options) {
  std::string server = options.sas_server;
  if (server.empty()) server = options.variable("PC_SDK_SAS_URL");
  if (server.empty() && !options.variable("PC_SDK_SUBSCRIPTION_KEY").empty()) {
    server = kPlanetaryComputer;
  }
  while (server.ends_with('/')) server.pop_back();
  if (server.empty() || object::IsSafeForSecrets(server)) return server;
  return model::BadInput("the server of signatures {} is not https",
                         model::Quote(UrlForMessages(server)));
}

}  // namespace

model::Result<AccessToken> ParseSas(std::string_view text) {
  if (text.starts_with('?')) text.remove_prefix(1);
  const bool is_sound = IsSas(text) && std::none_of(text.begin(), text.end(), [](char c) {
                          return static_cast<unsigned char>(c) < 0x21 ||
                                 static_cast<unsigned char>(c) > 0x7e || c == '#';
                        });
  if (!is_sound) return model::BadInput("no shared access signature (sv=...&sig=...)");
  AccessToken sas = {std::string(text), 0};
  const std::string end = ParameterOf(text, "se");
  if (end.empty()) return sas;  // a stored policy tells it
  const auto seconds = ParseEnd(end);
  if (!seconds) return model::BadInput("a shared access signature with an end that is no time");
  sas.expires_s = *seconds;
  return sas;
}

const object::TokenUse& SasOrBearerUse() {
  static const object::TokenUse use = {
      [](HttpAttempt& attempt, const std::string& token) {
        if (!IsSas(token)) return object::BearerUse().apply(attempt, token);
        attempt.url += attempt.url.find('?') == attempt.url.npos ? '?' : '&';
        attempt.url += token;
      },
      [](const HttpResponse& response) {
        // A signature that has ended fails so.
        return response.status == 401 ||
               (response.status == 403 &&
                response.Find("x-ms-error-code") == "AuthenticationFailed");
      }};
  return use;
}

model::Result<AzureCredentials> FindCredentials(const BlobPlace& place,
                                                const AccountSettings& settings,
                                                const CredentialOptions& options) {
  if (!options.token_file.empty()) {
    return AzureCredentials{.tokens = object::MakeFileTokens(options.token_file)};
  }
  if (!place.sas.empty()) return OfSas(place.sas, "the query of the URL", options);
  NDLFS_TRY(const auto sas_server, SasServer(options));
  if (place.account.empty() && (!settings.key.empty() || !sas_server.empty())) {
    return model::BadInput("AZURE_STORAGE_ACCOUNT must name the account");
  }
  const bool is_own = settings.account.empty() || settings.account == place.account;
  if (is_own && !settings.key.empty()) {
    NDLFS_TRY(auto key, MakeSharedKey(place.account, settings.key));
    return AzureCredentials{.key = std::move(key)};
  }
  if (is_own && !settings.sas.empty()) {
    return OfSas(settings.sas, "AZURE_STORAGE_SAS_TOKEN", options);
  }
  if (!sas_server.empty()) {
    const std::string url = sas_server + "/" + PercentEncode(place.account, false) + "/" +
                            PercentEncode(place.container, false);
    return AzureCredentials{
        .tokens = object::MakeTokenSource([url, options] { return AskForSas(url, options); },
                                          options.now_s)};
  }
  if (!options.variable("AZURE_FEDERATED_TOKEN_FILE").empty() ||
      !options.variable("AZURE_CLIENT_SECRET").empty()) {
    return OfApplication(options);
  }
  if (options.asks_metadata_server || options.variable("AZCOPY_AUTO_LOGIN_TYPE") == "MSI") {
    return AzureCredentials{.tokens = object::MakeTokenSource(
                                [options] { return AskForIdentity(options); }, options.now_s)};
  }
  return AzureCredentials{};
}

}  // namespace ndlfs::backends::azure
