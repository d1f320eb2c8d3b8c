// SPDX-License-Identifier: MIT
#include "backends/store/google/google_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <optional>
#include <random>
#include <string_view>
#include <utility>

#include "backends/base/percent_encoding.h"
#include "backends/store/google/credentials.h"
#include "backends/store/http/url.h"
#include "backends/store/object/bucket.h"

namespace ndlfs::backends::google {
namespace {

constexpr std::string_view kServer = "https://storage.googleapis.com";
constexpr std::string_view kGoogleHeaders = "x-goog-";
// Begins the version of an object: no ETag is like that.
constexpr std::string_view kGeneration = "generation ";

// The parameter that names the generation of an object in the query of a URL.
constexpr std::string_view kGenerationQuery = "?generation=";

std::string VersionOf(std::string_view generation) {
  return std::string(kGeneration) + std::string(generation);
}

// Whether an answer with this state to a request for `url` says that a generation is gone.
bool IsGoneGeneration(KeyState state, std::string_view url) {
  const bool is_gone = state == KeyState::kAbsent || state == KeyState::kRefused;
  return is_gone && url.find(kGenerationQuery) != url.npos;
}

// A query that no request to Google had before, so that no cache has an answer to it. Caches of
// public objects ignore Cache-Control in requests.
std::string UniqueQuery() {
  static std::atomic<uint64_t> next = [] {
    std::random_device random;
    return uint64_t{random()} << 32 | random();
  }();
  return fmt::format("?ndlfs={:016x}", next.fetch_add(1));
}

std::string_view AdviceOn(int status, std::string_view code, bool is_anonymous) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kAdvice = {{
      {"NoSuchBucket", ": there is no such bucket; check its name, and --endpoint"},
      {"SignatureDoesNotMatch", ": the secret of the HMAC key is wrong"},
      {"InvalidAccessKeyId", ": the HMAC key is unknown there"},
      {"UserProjectMissing", ": the requester pays, see --requester-pays"},
      {"RequestTimeTooSkewed", ": the clock of this machine is wrong"},
  }};
  for (const auto& [known, advice] : kAdvice) {
    if (known == code) return advice;
  }
  if (status == 401) return ": the token is wrong, or has ended";
  if (status != 403) return "";
  return is_anonymous ? ": asked without credentials, see GOOGLE_APPLICATION_CREDENTIALS" : "";
}

class GoogleBucket final : public object::Bucket {
 public:
  // `avoids_caches`: objects may change, so answers of caches do not count.
  GoogleBucket(std::string name, std::string server, GoogleCredentials credentials,
               std::string project, bool avoids_caches, object::GetTime now_s)
      : name_(std::move(name)),
        server_(std::move(server)),
        credentials_(std::move(credentials)),
        project_(std::move(project)),
        avoids_caches_(avoids_caches),
        now_s_(std::move(now_s)) {}

  std::string name() const override { return "gs://" + name_; }
  std::string server() const override { return server_ == kServer ? "" : server_; }

  HttpRequest ObjectRequest(std::string_view key) const override {
    HttpRequest request =
        RequestFor("/" + PercentEncode(key) + (avoids_caches_ ? UniqueQuery() : ""));
    // Otherwise Google decodes objects with Content-Encoding gzip, and ignores ranges of them.
    request.headers.push_back({"Accept-Encoding", "gzip"});
    return request;
  }
  HttpRequest ListRequest(std::string_view folder, const PageStart& start,
                          unsigned most_names) const override {
    return RequestFor("?" + object::ListQuery(folder, start, most_names));
  }

  KeyState StateOf(const HttpRequest& request, const HttpResponse& response) const override {
    const std::string code = object::CodeOf(response);
    if (response.status == 404 && code == "NoSuchBucket") return KeyState::kFailed;
    const KeyState state = object::StateByStatus(request, response, code);
    return IsGoneGeneration(state, request.url) ? KeyState::kOtherVersion : state;
  }
  model::Failure ToError(const HttpResponse& response) const override {
    const std::string code = object::CodeOf(response);
    if (IsGoneGeneration(object::StateByStatus({}, response, code), response.url)) {
      return model::HasChanged(name());
    }
    const bool is_anonymous = !credentials_.hmac_key && !credentials_.tokens;
    return object::ErrorOf(name(), response, code,
                           AdviceOn(response.status, code, is_anonymous));
  }

  ValueInfo InfoOf(const HttpResponse& response) const override {
    return WithGeneration(Bucket::InfoOf(response), response.Find("x-goog-generation"));
  }
  std::optional<ValueInfo> InfoOf(const object::ListedKey& listed) const override {
    // A server that does not list generations, as an emulator, may still tell them otherwise.
    if (listed.version.empty()) return std::nullopt;
    return WithGeneration(*Bucket::InfoOf(listed), listed.version);
  }
  void AskForVersion(HttpRequest& request, const Generation& version) const override {
    const std::string_view tag = version.tag();
    if (!tag.starts_with(kGeneration)) return Bucket::AskForVersion(request, version);
    // A generation never changes: whoever answers has the right bytes.
    request.url.resize(std::min(request.url.find('?'), request.url.size()));
    request.url += kGenerationQuery;
    request.url += tag.substr(kGeneration.size());
  }
  bool AskUnlessVersion(HttpRequest& request, const Generation& version) const override {
    const std::string_view tag = version.tag();
    if (!tag.starts_with(kGeneration)) return Bucket::AskUnlessVersion(request, version);
    request.headers.push_back(
        {"x-goog-if-generation-not-match", std::string(tag.substr(kGeneration.size()))});
    return true;
  }

 private:
  static ValueInfo WithGeneration(ValueInfo info, std::string_view generation) {
    if (!ParseDecimal(generation)) return info;
    info.generation = Generation::OfTag(VersionOf(generation));
    info.is_settled = true;
    return info;
  }

  HttpRequest RequestFor(const std::string& below) const {
    HttpRequest request;
    request.url = server_ + "/" + PercentEncode(name_, false) + below;
    request.follow_redirects = false;
    if (!project_.empty()) request.headers.push_back({"x-goog-user-project", project_});
    if (credentials_.tokens) {
      object::UseTokens(request, credentials_.tokens, object::BearerUse());
    } else if (credentials_.hmac_key) {
      request.prepare = [this](HttpAttempt& attempt) { return SignAttempt(attempt); };
    }
    return request;
  }

  model::Result<void> SignAttempt(HttpAttempt& attempt) const {
    if (!attempt.same_origin) return model::Internal("a signature for another server");
    NDLFS_TRY(const Url url, ParseUrl(attempt.url));
    const std::string origin = url.origin();
    object::RequestToSign to_sign = {
        .method = ToText(attempt.method),
        .host = std::string_view(origin).substr(origin.find("//") + 2),
        .path = url.path,
        .query = url.query,
        .headers = {},
        .body = attempt.body};
    std::copy_if(
        attempt.headers.begin(), attempt.headers.end(), std::back_inserter(to_sign.headers),
        [](const HttpHeader& header) { return header.name.starts_with(kGoogleHeaders); });
    const object::SigningScope scope = {
        .region = "auto", .service = "storage", .words = object::kGoogleWords};
    for (HttpHeader& header : Sign(to_sign, *credentials_.hmac_key, scope, now_s_())) {
      attempt.headers.push_back(std::move(header));
    }
    return {};
  }

  const std::string name_;
  const std::string server_;
  const GoogleCredentials credentials_;
  const std::string project_;  // that pays; empty: the owner does
  const bool avoids_caches_;
  const object::GetTime now_s_;
};

// The server, and whether it is an emulator, which knows no credentials.
struct Server {
  std::string url;
  bool is_emulator = false;
};

model::Result<Server> ChooseServer(const GoogleOptions& options) {
  if (!options.endpoint.empty()) {
    NDLFS_TRY(auto url, object::CheckEndpoint(options.endpoint));
    return Server{std::move(url)};
  }
  std::string emulator = options.variable("STORAGE_EMULATOR_HOST");
  if (emulator.empty()) return Server{std::string(kServer)};
  if (!LooksLikeUrl(emulator)) emulator.insert(0, "http://");
  NDLFS_TRY(auto url, object::CheckEndpoint(emulator), "STORAGE_EMULATOR_HOST");
  return Server{std::move(url), true};
}

}  // namespace

model::Result<std::shared_ptr<const RemoteSource>> OpenGoogleSource(
    const std::string& url, const GoogleOptions& google, RemoteOptions options,
    std::shared_ptr<const HttpClient> client) {
  NDLFS_TRY(const object::Location location, object::ParseLocation(url, "gs"));
  NDLFS_TRY(Server server, ChooseServer(google));
  GoogleCredentials credentials;
  if (google.signs && !server.is_emulator) {
    NDLFS_TRY(credentials,
              FindCredentials({google.variable, google.now_s, client, google.token_file,
                               google.asks_metadata_server}),
              "credentials of Google");
  }
  std::string project;
  if (google.requester_pays) {
    project = object::FirstNotEmpty(
        {google.project, google.variable("GOOGLE_CLOUD_PROJECT"), credentials.project});
    if (project.empty()) {
      return model::BadInput("--requester-pays: GOOGLE_CLOUD_PROJECT must name the project");
    }
  }
  auto bucket = std::make_shared<const GoogleBucket>(
      location.bucket, std::move(server.url), std::move(credentials), std::move(project),
      options.trusts_looks_for.has_value(), google.now_s);
  return std::make_shared<const RemoteSource>(
      std::move(client), object::MakeBucketService(std::move(bucket), location.prefix),
      std::move(options));
}

}  // namespace ndlfs::backends::google
