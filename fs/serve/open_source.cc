// SPDX-License-Identifier: MIT
#include "fs/serve/open_source.h"

#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "backends/base/percent_encoding.h"
#include "backends/detection.h"
#include "backends/store/block_cache/block_cache.h"
#include "backends/store/block_cache/cached_source.h"
#include "backends/store/local/local_source.h"
#include "fs/serve/logging.h"
#if NDLFS_WITH_HTTP
#include "backends/store/http/allowed_urls.h"
#include "backends/store/http/curl_transport.h"
#include "backends/store/http/http_client.h"
#include "backends/store/http/http_service.h"
#include "backends/store/http/remote_source.h"
#include "backends/store/http/url.h"
#include "backends/store/s3/s3_source.h"
#endif

namespace ndlfs::fs {

using model::Result;

namespace {

Result<std::shared_ptr<backends::BlockCache>> OpenBlockCache(const RemoteAccess& access) {
  NDLFS_TRY(
      auto cache,
      backends::BlockCache::Open({access.block_cache, access.block_cache_size, &LogWarning}),
      "--block-cache");
  return cache;
}

}  // namespace

bool IsUrl(std::string_view text) { return text.find("://") != text.npos; }

Result<void> CheckBlockCache(const RemoteAccess& access) {
  if (!access.block_cache.empty()) NDLFS_RETURN_IF_ERROR(OpenBlockCache(access));
  return {};
}

Result<void> AddBlockCache(RemotePlace& place, const RemoteAccess& access) {
  if (access.block_cache.empty()) return {};
  // All users would be shown what one of them may read.
  if (place.source->is_shared()) {
    return model::BadInput(
        "--block-cache: not with --allow-other, unless the source is behind a URL");
  }
  NDLFS_TRY(const auto cache, OpenBlockCache(access));
  place.source =
      backends::MakeCachedSource(place.source, cache, {.trust_for = access.trusts_looks_for});
  place.block_cache = cache;
  return {};
}

#if NDLFS_WITH_HTTP

namespace {

using SourcePtr = std::shared_ptr<const backends::Source>;
using ClientPtr = std::shared_ptr<const backends::HttpClient>;

// Which documents are worth reading as soon as they are looked for: those that make a directory
// a store.
std::vector<std::string> MetadataDocuments() {
  return {"zarr.json", ".zmetadata",      ".zgroup", ".zarray",
          ".zattrs",   "attributes.json", "repo",    "refs/branch.main/ref.json"};
}

backends::RemoteOptions OptionsOf(const RemoteAccess& access) {
  const auto first = backends::MarkersAskedFirst();
  return {.trusts_looks_for = access.trusts_looks_for,
          .documents = MetadataDocuments(),
          .first_documents = {first.begin(), first.end()},
          .extension = std::string(backends::kMarkedExtension)};
}

Result<SourcePtr> OpenHttp(const std::string& url, const RemoteAccess& access,
                           const ClientPtr& client) {
  NDLFS_TRY(const auto top, backends::ParseUrl(url));
  return std::make_shared<const backends::RemoteSource>(
      client, backends::MakeHttpService(top, access.token_file), OptionsOf(access));
}

Result<SourcePtr> OpenS3(const std::string& url, const RemoteAccess& access,
                         const ClientPtr& client) {
  backends::s3::BucketOptions bucket;
  bucket.endpoint = access.endpoint;
  bucket.region = access.region;
  bucket.signs = access.signs_requests;
  bucket.requester_pays = access.requester_pays;
  return backends::s3::OpenS3Source(url, bucket, OptionsOf(access), client);
}

struct Scheme {
  std::string_view name;
  Result<SourcePtr> (*open)(const std::string& url, const RemoteAccess& access,
                            const ClientPtr& client);
};
constexpr std::array kSchemes = {Scheme{"http", &OpenHttp}, Scheme{"https", &OpenHttp},
                                 Scheme{"s3", &OpenS3}};

Result<const Scheme*> SchemeOf(const backends::Url& url) {
  for (const Scheme& scheme : kSchemes) {
    if (scheme.name == url.scheme) return &scheme;
  }
  return model::Unsupported("ndlfs reads URLs of http, https and s3, and not of {}",
                            model::OneLine(url.scheme));
}

bool IsLocal(const backends::Url& url) { return url.scheme == "file"; }

Result<std::vector<backends::Url>> AllowedPrefixes(const RemoteAccess& access) {
  std::vector<backends::Url> prefixes;
  for (const std::string& prefix : access.allow_urls) {
    NDLFS_TRY(auto url, backends::ParseUrl(prefix), "--allow-urls");
    prefixes.push_back(std::move(url));
  }
  return prefixes;
}

Result<SourcePtr> OpenLocalDirectory(const backends::Url& url) {
  const auto path = backends::PercentDecode(url.path);
  if (!path) return model::BadInput("{} is no path", model::Quote(url.path));
  NDLFS_TRY(auto source, backends::LocalSource::Open(*path));
  return source;
}

Result<ClientPtr> MakeClient(const RemoteAccess& access) {
  backends::HttpOptions options;
  options.timeout = access.timeout;
  NDLFS_TRY(options.allow_urls, AllowedPrefixes(access));
  // No server may redirect to a file of this machine.
  std::erase_if(options.allow_urls, &IsLocal);
  return std::make_shared<const backends::HttpClient>(
      backends::MakeCurlTransport({.max_requests = access.requests, .ca_file = access.ca_file}),
      std::move(options));
}

std::map<std::string, EndpointStatistics> StatisticsOf(const backends::HttpClient& client) {
  std::map<std::string, EndpointStatistics> all;
  for (const auto& [origin, stats] : client.stats()) {
    all[origin] = {stats.requests, stats.bytes, stats.retries,
                   stats.failures, stats.heads, static_cast<double>(stats.head_ns) / 1e9};
  }
  return all;
}

// The URL of the directory that the last part of the path is in, and that part, decoded; empty
// if the URL says that it is a directory.
std::pair<backends::Url, std::string> SplitLast(const backends::Url& url) {
  const size_t slash = url.path.rfind('/');
  const auto name = backends::PercentDecode(std::string_view(url.path).substr(slash + 1));
  if (!name || !backends::IsSoundName(*name)) return {url, ""};
  backends::Url parent = url;
  parent.path.resize(slash + 1);
  return {parent, *name};
}

// With user and password, unlike Url::ToText().
std::string WholeText(const backends::Url& url) {
  std::string text = url.ToText();
  if (url.user.empty()) return text;
  return text.insert(text.find("://") + 3, backends::PercentEncode(url.user, false) + ":" +
                                               backends::PercentEncode(url.password, false) +
                                               "@");
}

// Lets documents in the source name files behind the URLs that `access` allows, which `client`
// asks for.
Result<void> AllowUrls(RemotePlace& place, const RemoteAccess& access,
                       const ClientPtr& client) {
  if (access.allow_urls.empty()) return {};
  RemoteAccess of_targets = access;
  of_targets.token_file.clear();  // it is for the server of the source
  const auto open = [of_targets, client](const backends::Url& top) -> Result<SourcePtr> {
    if (IsLocal(top)) return OpenLocalDirectory(top);
    NDLFS_TRY(const Scheme* scheme, SchemeOf(top));
    NDLFS_TRY(SourcePtr source, scheme->open(WholeText(top), of_targets, client));
    RemotePlace target = {std::move(source), "", nullptr};
    NDLFS_RETURN_IF_ERROR(AddBlockCache(target, of_targets));
    return target.source;
  };
  NDLFS_TRY(auto prefixes, AllowedPrefixes(access));
  place.source = backends::MakeAllowedUrls(std::move(place.source), std::move(prefixes), open);
  return {};
}

Result<void> AllowUrls(RemotePlace& place, const RemoteAccess& access) {
  if (access.allow_urls.empty()) return {};
  NDLFS_TRY(const ClientPtr client, MakeClient(access));
  place.statistics = [client] { return StatisticsOf(*client); };
  return AllowUrls(place, access, client);
}

Result<RemotePlace> Finished(RemotePlace place, const RemoteAccess& access,
                             const ClientPtr& client) {
  place.received = [client] { return client->received(); };
  NDLFS_RETURN_IF_ERROR(AddBlockCache(place, access));
  NDLFS_RETURN_IF_ERROR(AllowUrls(place, access, client));
  return place;
}

}  // namespace

std::string ShownUrl(std::string_view url) { return backends::UrlForMessages(url); }

Result<void> CheckUrl(const std::string& text, const RemoteAccess& access) {
  NDLFS_TRY(const auto url, backends::ParseUrl(text));
  NDLFS_RETURN_IF_ERROR(SchemeOf(url));
  NDLFS_RETURN_IF_ERROR(MakeClient(access));
  return {};
}

Result<RemotePlace> OpenUrl(const std::string& text, const RemoteAccess& access) {
  const std::string shown = ShownUrl(text);
  NDLFS_TRY(const auto url, backends::ParseUrl(text));
  NDLFS_TRY(const Scheme* scheme, SchemeOf(url));
  NDLFS_TRY(const ClientPtr client, MakeClient(access));
  const auto statistics = [client] { return StatisticsOf(*client); };
  const auto [parent, name] = SplitLast(url);
  if (!name.empty()) {
    NDLFS_TRY(SourcePtr source, scheme->open(WholeText(parent), access, client), shown);
    NDLFS_TRY(const auto status, source->Stat(name, backends::Follow::kYes), shown);
    if (!status) return model::Propagate(model::IoError(ENOENT, "open").value(), shown);
    if (status->is_file()) {
      return Finished({std::move(source), name, statistics}, access, client);
    }
  }
  NDLFS_TRY(SourcePtr source, scheme->open(text, access, client), shown);
  if (name.empty()) {
    const auto& remote = dynamic_cast<const backends::RemoteSource&>(*source);
    NDLFS_RETURN_IF_ERROR(remote.CheckTop());  // names the URL
  }
  return Finished({std::move(source), "", statistics}, access, client);
}

#else

namespace {

Result<void> AllowUrls(RemotePlace&, const RemoteAccess&) { return {}; }

}  // namespace

std::string ShownUrl(std::string_view) { return "URL"; }

Result<void> CheckUrl(const std::string&, const RemoteAccess&) {
  return model::Unsupported("this build of ndlfs reads no URLs (it has no libcurl)");
}

Result<RemotePlace> OpenUrl(const std::string& url, const RemoteAccess& access) {
  return model::Propagate(CheckUrl(url, access).error());
}

#endif

Result<RemotePlace> OpenLocal(const std::string& path, bool is_shared,
                              const RemoteAccess& access) {
  NDLFS_TRY(auto source, backends::LocalSource::Open(path, is_shared));
  RemotePlace place = {std::move(source), "", nullptr};
  NDLFS_RETURN_IF_ERROR(AddBlockCache(place, access));
  if (!is_shared) NDLFS_RETURN_IF_ERROR(AllowUrls(place, access));
  return place;
}

}  // namespace ndlfs::fs
