// SPDX-License-Identifier: MIT
#include "backends/store/azure/azure_source.h"

#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "backends/base/percent_encoding.h"
#include "backends/store/azure/account.h"
#include "backends/store/azure/blob_list.h"
#include "backends/store/azure/credentials.h"
#include "backends/store/azure/shared_key.h"
#include "backends/store/object/bucket.h"
#include "model/http_date.h"

namespace ndlfs::backends::azure {
namespace {

constexpr const char* kVersion = "2023-11-03";  // of the protocol
// A clock that is off by less is not what a server complains about.
constexpr int64_t kSmallestSkew_s = 60;

std::string_view AdviceOn(std::string_view code, bool is_anonymous) {
  if (code == "ContainerNotFound") {
    return ": there is no such container; check its name, and the account";
  }
  if (code == "AuthenticationFailed") {
    return ": the key, the signature or the clock of this machine is wrong, or a token has "
           "ended";
  }
  if (code == "AuthorizationPermissionMismatch") {
    return ": a role such as Storage Blob Data Reader is missing";
  }
  const bool needs_more = code == "ResourceNotFound" || code == "PublicAccessNotPermitted" ||
                          code == "NoAuthenticationInformation" ||
                          code == "AuthorizationFailure";
  return needs_more && is_anonymous
             ? ": asked without credentials, see AZURE_STORAGE_KEY and AZURE_STORAGE_SAS_TOKEN"
             : "";
}

class Container final : public object::Bucket {
 public:
  Container(BlobPlace place, AzureCredentials credentials, object::GetTime now_s)
      : place_(std::move(place)),
        credentials_(std::move(credentials)),
        now_s_(std::move(now_s)) {}

  std::string name() const override { return place_.name; }
  std::string server() const override { return place_.endpoint; }

  HttpRequest ObjectRequest(std::string_view key) const override {
    return RequestFor("/" + PercentEncode(key));
  }
  HttpRequest ListRequest(std::string_view folder, const PageStart& start,
                          unsigned most_names) const override {
    return RequestFor("?" + ListQuery(folder, start, most_names));
  }
  model::Result<object::KeyPage> ParseList(std::string_view body,
                                           std::string_view folder) const override {
    return ParseBlobList(body, folder);
  }

  bool takes_ranges_from_end() const override { return false; }

  KeyState StateOf(const HttpRequest& request, const HttpResponse& response) const override {
    const std::string code = object::CodeOf(response);
    if (code == "ContainerNotFound" || code == "ContainerBeingDeleted") {
      return KeyState::kFailed;
    }
    // So Azure answers if the container may not be read, or not be listed, by everybody.
    if (response.status == 404 && code == "ResourceNotFound") return KeyState::kRefused;
    if (response.status == 409) return KeyState::kForbidden;
    // A directory of a hierarchical namespace is a blob, too.
    const bool is_folder = response.Find("x-ms-resource-type") == "directory" ||
                           response.Find("x-ms-meta-hdi_isfolder") == "true";
    if (response.is_success() && is_folder) return KeyState::kAbsent;
    return object::StateByStatus(request, response, code);
  }
  model::Failure ToError(const HttpResponse& response) const override {
    const std::string code = object::CodeOf(response);
    const bool is_anonymous = !credentials_.key && !credentials_.tokens;
    model::Failure error =
        object::ErrorOf(name(), response, code, AdviceOn(code, is_anonymous));
    // So Azure refuses what everybody may not read.
    const bool is_refusal = response.status == 409 || code == "ResourceNotFound";
    if (!is_refusal) return error;
    return model::IoError(EACCES, error.value().message());
  }

 private:
  HttpRequest RequestFor(const std::string& below) const {
    HttpRequest request;
    request.url = place_.endpoint + "/" + PercentEncode(place_.container, false) + below;
    request.follow_redirects = false;
    request.headers.push_back({"x-ms-version", kVersion});
    if (credentials_.tokens) {
      object::UseTokens(request, credentials_.tokens, SasOrBearerUse());
    } else if (credentials_.key) {
      request.prepare = [this](HttpAttempt& attempt) { return SignAttempt(attempt); };
      request.correct = [this](HttpRequest&, const HttpResponse& response) {
        return LearnTime(response);
      };
    }
    return request;
  }

  model::Result<void> SignAttempt(HttpAttempt& attempt) const {
    if (!attempt.same_origin) return model::Internal("a signature for another server");
    NDLFS_TRY(const Url url, ParseUrl(attempt.url));
    attempt.headers.push_back({"x-ms-date", model::FormatHttpDate(now_s_() + clock_offset_s_)});
    attempt.headers.push_back(
        {"Authorization", SignatureOf(*credentials_.key, attempt, url.path, url.query)});
    return {};
  }

  // Whether the server refused the time of this machine, and another one may do.
  bool LearnTime(const HttpResponse& response) const {
    const auto server_ns = ServerClockNs(response);
    if (response.status != 403 || !server_ns) return false;
    const int64_t offset = *server_ns / 1'000'000'000 - now_s_();
    return std::abs(offset - clock_offset_s_.exchange(offset)) >= kSmallestSkew_s;
  }

  const BlobPlace place_;
  const AzureCredentials credentials_;
  const object::GetTime now_s_;
  mutable std::atomic<int64_t> clock_offset_s_ = 0;  // server minus this machine
};

// Completes what the URL does not tell.
model::Result<void> FindServer(BlobPlace& place, const AzureOptions& options,
                               const AccountSettings& settings) {
  if (place.account.empty() && options.account.empty()) {
    place.account = settings.account;
    place.endpoint = settings.endpoint;
  } else if (place.account.empty()) {
    place.account = options.account;
  }
  if (!options.endpoint.empty()) place.endpoint = options.endpoint;
  if (place.endpoint.empty()) {
    if (place.account.empty()) {
      return model::BadInput("{}: AZURE_STORAGE_ACCOUNT must name the account",
                             model::OneLine(place.name));
    }
    NDLFS_RETURN_IF_ERROR(CheckAccount(place.account));
    place.endpoint = EndpointOf(place.account);
  }
  NDLFS_TRY(place.endpoint, object::CheckEndpoint(place.endpoint));
  if (place.account.empty()) place.account = AccountIn(ParseUrl(place.endpoint)->host);
  return {};
}

}  // namespace

bool IsBlobUrl(const Url& url) { return url.scheme == "https" && IsBlobHost(url.host); }

bool IsContainerUrl(const Url& url) {
  const bool is_whole = url.path.find('/', 1) == url.path.npos;
  return IsBlobUrl(url) && is_whole && url.path.size() > 1;
}

model::Result<std::shared_ptr<const RemoteSource>> OpenAzureSource(
    const std::string& url, const AzureOptions& azure, RemoteOptions options,
    std::shared_ptr<const HttpClient> client) {
  NDLFS_TRY(BlobPlace place, ParseBlobUrl(url));
  NDLFS_TRY(const AccountSettings settings, ReadAccountSettings(azure.variable));
  NDLFS_RETURN_IF_ERROR(FindServer(place, azure, settings));
  AzureCredentials credentials;
  if (azure.signs) {
    NDLFS_TRY(credentials,
              FindCredentials(place, settings,
                              {azure.variable, azure.now_s, client, azure.token_file,
                               azure.sas_server, azure.asks_metadata_server}),
              "credentials of Azure");
  }
  const std::string prefix = place.prefix;
  auto container =
      std::make_shared<const Container>(std::move(place), std::move(credentials), azure.now_s);
  return std::make_shared<const RemoteSource>(
      std::move(client), object::MakeBucketService(std::move(container), prefix),
      std::move(options));
}

}  // namespace ndlfs::backends::azure
