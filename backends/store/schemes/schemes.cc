// SPDX-License-Identifier: MIT
#include "backends/store/schemes/schemes.h"

#include <array>
#include <string_view>
#include <utility>

#include "backends/store/azure/azure_source.h"
#include "backends/store/google/google_source.h"
#include "backends/store/http/http_service.h"
#include "backends/store/http/object_schemes.h"
#include "backends/store/s3/s3_source.h"

namespace ndlfs::backends {
namespace {

using ClientPtr = std::shared_ptr<const HttpClient>;
using Opened = model::Result<std::shared_ptr<const RemoteSource>>;

Opened OpenHttp(const std::string& url, const RemoteSettings& settings, RemoteOptions options,
                ClientPtr client) {
  NDLFS_TRY(const auto top, ParseUrl(url));
  return std::make_shared<const RemoteSource>(
      std::move(client), MakeHttpService(top, settings.token_file), std::move(options));
}

Opened OpenS3(const std::string& url, const RemoteSettings& settings, RemoteOptions options,
              ClientPtr client) {
  s3::BucketOptions bucket;
  bucket.endpoint = settings.endpoint;
  bucket.region = settings.region;
  bucket.signs = settings.signs;
  bucket.requester_pays = settings.requester_pays;
  bucket.asks_metadata_server = settings.asks_metadata_server || settings.is_named_by_user;
  return s3::OpenS3Source(url, bucket, std::move(options), std::move(client));
}

Opened OpenGoogle(const std::string& url, const RemoteSettings& settings, RemoteOptions options,
                  ClientPtr client) {
  google::GoogleOptions google;
  google.endpoint = settings.endpoint;
  google.signs = settings.signs;
  google.token_file = settings.token_file;
  google.requester_pays = settings.requester_pays;
  google.project = settings.project;
  google.asks_metadata_server = settings.asks_metadata_server;
  return google::OpenGoogleSource(url, google, std::move(options), std::move(client));
}

Opened OpenAzure(const std::string& url, const RemoteSettings& settings, RemoteOptions options,
                 ClientPtr client) {
  azure::AzureOptions azure;
  azure.account = settings.account;
  azure.endpoint = settings.endpoint;
  azure.signs = settings.signs;
  azure.token_file = settings.token_file;
  azure.sas_server = settings.sas_server;
  azure.asks_metadata_server = settings.asks_metadata_server;
  return azure::OpenAzureSource(url, azure, std::move(options), std::move(client));
}

bool IsAny(const Url&) { return true; }

// The first entry that takes a URL counts.
struct SourceKind {
  std::string_view scheme;
  bool (*takes)(const Url& url);  // of this scheme
  Opened (*open)(const std::string& url, const RemoteSettings& settings, RemoteOptions options,
                 ClientPtr client);
};
#define NDLFS_KIND(scheme, open) SourceKind{scheme, &IsAny, &open},
constexpr std::array kKinds = {
    SourceKind{"https", &azure::IsBlobUrl, &OpenAzure}, SourceKind{"https", &IsAny, &OpenHttp},
    SourceKind{"http", &IsAny, &OpenHttp},
    NDLFS_OBJECT_SCHEMES(NDLFS_KIND)  //
};
#undef NDLFS_KIND

const SourceKind* FindKind(const Url& url) {
  for (const SourceKind& kind : kKinds) {
    if (kind.scheme == url.scheme && kind.takes(url)) return &kind;
  }
  return nullptr;
}

}  // namespace

model::Result<void> CheckScheme(const Url& url) {
  if (FindKind(url) != nullptr) return {};
  std::string names;
  for (const SourceKind& kind : kKinds) {
    if (kind.takes != &IsAny) continue;
    if (!names.empty()) names += &kind == &kKinds.back() ? " and " : ", ";
    names += kind.scheme;
  }
  return model::Unsupported("ndlfs reads URLs of {}, and not of {}", names,
                            model::OneLine(url.scheme));
}

bool IsTopOfBucket(const Url& url) { return azure::IsContainerUrl(url); }

Opened OpenRemoteSource(const std::string& url, const RemoteSettings& settings,
                        RemoteOptions options, ClientPtr client) {
  NDLFS_TRY(const Url parsed, ParseUrl(url));
  NDLFS_RETURN_IF_ERROR(CheckScheme(parsed));
  return FindKind(parsed)->open(url, settings, std::move(options), std::move(client));
}

}  // namespace ndlfs::backends
