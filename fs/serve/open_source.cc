// SPDX-License-Identifier: MIT
#include "fs/serve/open_source.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/base/percent_encoding.h"
#include "backends/detection.h"
#include "backends/store/block_cache/block_cache.h"
#include "backends/store/block_cache/cached_source.h"
#include "backends/store/local/local_source.h"
#include "fs/serve/logging.h"
#include "model/mutex.h"
#if NDLFS_WITH_HTTP
#include "backends/store/http/allowed_urls.h"
#include "backends/store/http/curl_transport.h"
#include "backends/store/http/http_client.h"
#include "backends/store/http/remote_source.h"
#include "backends/store/http/url.h"
#include "backends/store/object/environment.h"
#include "backends/store/schemes/schemes.h"
#include "backends/store/schemes/url_rules.h"
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

// The files of Icechunk repositories that change; all others are written once.
std::vector<std::string> PointerDocuments() { return {"repo", "refs/branch.main/ref.json"}; }

// Which documents are worth reading as soon as they are looked for: those that make a directory
// a store.
std::vector<std::string> MetadataDocuments() {
  std::vector<std::string> names = {"zarr.json", ".zmetadata", ".zgroup",
                                    ".zarray",   ".zattrs",    "attributes.json"};
  for (std::string& name : PointerDocuments()) names.push_back(std::move(name));
  return names;
}

backends::RemoteOptions OptionsOf(const RemoteAccess& access) {
  const auto first = backends::MarkersAskedFirst();
  return {.trusts_looks_for = access.trusts_looks_for,
          .documents = MetadataDocuments(),
          .first_documents = {first.begin(), first.end()},
          .extension = std::string(backends::kMarkedExtension),
          .pointers = PointerDocuments()};
}

backends::RemoteSettings SettingsOf(const RemoteAccess& access) {
  return {.endpoint = access.endpoint,
          .region = access.region,
          .signs = access.signs_requests,
          .requester_pays = access.requester_pays,
          .token_file = access.token_file};
}

bool IsLocal(const backends::Url& url) { return url.scheme == "file"; }

Result<SourcePtr> OpenLocalDirectory(const backends::Url& url) {
  const auto path = backends::PercentDecode(url.path);
  if (!path) return model::BadInput("{} is no path", model::Quote(url.path));
  NDLFS_TRY(auto source, backends::LocalSource::Open(*path));
  return source;
}

// The file with the user's settings for URLs. Without --urls it need not exist, and a home that
// belongs to somebody else, as sudo(8) may leave it, has none for this user.
Result<backends::UrlRules> ReadRules(const RemoteAccess& access) {
  const std::string home =
      backends::object::HomeDirectory(backends::object::GetEnvironmentVariable);
  std::string path = access.urls_file;
  if (path.empty()) {
    path = backends::object::GetEnvironmentVariable("XDG_CONFIG_HOME");
    if (path.empty()) path = home + "/.config";
    path += "/ndlfs/urls.yaml";
  }
  auto rules = backends::UrlRules::Read(path, home);
  const bool is_missing = !rules && (rules.error().is_no_such_file() ||
                                     rules.error().code() == model::ErrorCode::kDenied);
  if (is_missing && access.urls_file.empty()) return backends::UrlRules();
  return rules;
}

// The prefixes of URLs that redirects and references may lead to, and those below them for
// which the user has other settings.
Result<std::vector<backends::Url>> AllowedPrefixes(const RemoteAccess& access,
                                                   const backends::UrlRules& rules) {
  std::vector<backends::Url> prefixes;
  const auto add = [&prefixes](backends::Url url) {
    if (backends::IsTopOfBucket(url)) url.path += '/';
    prefixes.push_back(std::move(url));
  };
  for (const std::string& prefix : access.allow_urls) {
    NDLFS_TRY(auto url, backends::ParseUrl(prefix), "--allow-urls");
    add(std::move(url));
  }
  for (const backends::UrlRule& rule : rules.all()) {
    const bool is_allowed =
        rule.allow || std::ranges::any_of(prefixes, [&](const backends::Url& prefix) {
          return backends::IsWithin(rule.prefix, prefix);
        });
    if (is_allowed) add(rule.prefix);
  }
  return prefixes;
}

// With user and password, unlike Url::ToText().
std::string WholeText(const backends::Url& url) {
  std::string text = url.ToText();
  if (url.user.empty()) return text;
  return text.insert(text.find("://") + 3, backends::PercentEncode(url.user, false) + ":" +
                                               backends::PercentEncode(url.password, false) +
                                               "@");
}

// Opens the sources of one command or mount, by its options and the user's file. Thread-safe.
class SourceOpener {
 public:
  static Result<std::shared_ptr<const SourceOpener>> Make(const RemoteAccess& access) {
    NDLFS_TRY(auto rules, ReadRules(access));
    NDLFS_TRY(auto prefixes, AllowedPrefixes(access, rules));
    return std::make_shared<const SourceOpener>(access, std::move(rules), std::move(prefixes));
  }

  SourceOpener(const RemoteAccess& access, backends::UrlRules rules,
               std::vector<backends::Url> allowed)
      : access_(access), rules_(std::move(rules)), allowed_(std::move(allowed)) {}

  const RemoteAccess& access() const { return access_; }
  // What documents may name.
  const std::vector<backends::Url>& allowed() const { return allowed_; }

  // The directory `url`, for the command that names `named`: the options count, and where they
  // say nothing, the file.
  Result<SourcePtr> OpenNamed(const std::string& url, const backends::Url& named) const {
    auto settings = SettingsOf(access_);
    settings.is_named_by_user = true;
    return Open(url, std::move(settings), rules_.Find(named));
  }

  // The directory `top` of files below `prefix`, which documents name: the file counts, and for
  // other URLs the options do, but for the token, which is for the server of the source.
  Result<SourcePtr> OpenTarget(const backends::Url& top, const backends::Url& prefix) const {
    if (IsLocal(top)) return OpenLocalDirectory(top);
    const backends::UrlRule* const rule = rules_.Find(prefix);
    auto settings = rule != nullptr ? backends::RemoteSettings() : SettingsOf(access_);
    settings.token_file.clear();
    NDLFS_TRY(SourcePtr source, Open(WholeText(top), std::move(settings), rule));
    RemotePlace target = {std::move(source), "", nullptr};
    NDLFS_RETURN_IF_ERROR(AddBlockCache(target, access_));
    return target.source;
  }

  std::map<std::string, EndpointStatistics> statistics() const EXCLUDES(mutex_);
  uint64_t received() const EXCLUDES(mutex_) {
    uint64_t bytes = 0;
    for (const ClientPtr& client : clients()) bytes += client->received();
    return bytes;
  }

 private:
  Result<SourcePtr> Open(const std::string& url, backends::RemoteSettings settings,
                         const backends::UrlRule* rule) const {
    std::string ca_file = access_.ca_file;
    if (rule != nullptr) {
      rule->ApplyTo(settings);
      if (ca_file.empty()) ca_file = rule->ca_file;
    }
    NDLFS_TRY(SourcePtr source, backends::OpenRemoteSource(url, settings, OptionsOf(access_),
                                                           ClientFor(ca_file)));
    return source;
  }

  // One client for each file of certificates.
  ClientPtr ClientFor(const std::string& ca_file) const EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    ClientPtr& client = clients_[ca_file];
    if (client) return client;
    backends::HttpOptions options;
    options.timeout = access_.timeout;
    options.allow_urls = allowed_;
    // No server may redirect to a file of this machine.
    std::erase_if(options.allow_urls, &IsLocal);
    client = std::make_shared<const backends::HttpClient>(
        backends::MakeCurlTransport({.max_requests = access_.requests, .ca_file = ca_file}),
        std::move(options));
    return client;
  }
  std::vector<ClientPtr> clients() const EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    std::vector<ClientPtr> all;
    for (const auto& [ca_file, client] : clients_) all.push_back(client);
    return all;
  }

  const RemoteAccess access_;
  const backends::UrlRules rules_;
  const std::vector<backends::Url> allowed_;
  mutable model::Mutex mutex_;
  mutable std::map<std::string, ClientPtr> clients_ GUARDED_BY(mutex_);
};

std::map<std::string, EndpointStatistics> SourceOpener::statistics() const {
  std::map<std::string, EndpointStatistics> all;
  for (const ClientPtr& client : clients()) {
    for (const auto& [origin, stats] : client->stats()) {
      EndpointStatistics& sum = all[origin];
      sum.requests += stats.requests;
      sum.bytes += stats.bytes;
      sum.retries += stats.retries;
      sum.failures += stats.failures;
      sum.answers += stats.heads;
      sum.answer_seconds += static_cast<double>(stats.head_ns) / 1e9;
    }
  }
  return all;
}

// The URL of the directory that the last part of the path is in, and that part, decoded; empty
// if the URL says that it is a directory.
std::pair<backends::Url, std::string> SplitLast(const backends::Url& url) {
  if (backends::IsTopOfBucket(url)) return {url, ""};
  const size_t slash = url.path.rfind('/');
  const auto name = backends::PercentDecode(std::string_view(url.path).substr(slash + 1));
  if (!name || !backends::IsSoundName(*name)) return {url, ""};
  backends::Url parent = url;
  parent.path.resize(slash + 1);
  return {parent, *name};
}

using OpenerPtr = std::shared_ptr<const SourceOpener>;

// Lets documents in the source name files behind the URLs that the user allows.
void AllowUrls(RemotePlace& place, const OpenerPtr& opener) {
  if (opener->allowed().empty()) return;
  const auto open = [opener](const backends::Url& top, const backends::Url& prefix) {
    return opener->OpenTarget(top, prefix);
  };
  place.source = backends::MakeAllowedUrls(std::move(place.source), opener->allowed(), open);
}

Result<void> AllowUrls(RemotePlace& place, const RemoteAccess& access) {
  NDLFS_TRY(const OpenerPtr opener, SourceOpener::Make(access));
  if (opener->allowed().empty()) return {};
  place.statistics = [opener] { return opener->statistics(); };
  AllowUrls(place, opener);
  return {};
}

Result<RemotePlace> Finished(SourcePtr source, const std::string& file,
                             const OpenerPtr& opener) {
  RemotePlace place = {std::move(source), file, [opener] { return opener->statistics(); }};
  place.received = [opener] { return opener->received(); };
  NDLFS_RETURN_IF_ERROR(AddBlockCache(place, opener->access()));
  AllowUrls(place, opener);
  return place;
}

}  // namespace

std::string ShownUrl(std::string_view url) { return backends::UrlForMessages(url); }

Result<void> CheckUrl(const std::string& text, const RemoteAccess& access) {
  NDLFS_TRY(const auto url, backends::ParseUrl(text));
  NDLFS_RETURN_IF_ERROR(backends::CheckScheme(url));
  NDLFS_RETURN_IF_ERROR(SourceOpener::Make(access));
  return {};
}

Result<RemotePlace> OpenUrl(const std::string& text, const RemoteAccess& access) {
  const std::string shown = ShownUrl(text);
  NDLFS_TRY(const auto url, backends::ParseUrl(text));
  NDLFS_TRY(const OpenerPtr opener, SourceOpener::Make(access));
  const auto [parent, name] = SplitLast(url);
  if (!name.empty()) {
    NDLFS_TRY(SourcePtr source, opener->OpenNamed(WholeText(parent), url), shown);
    NDLFS_TRY(const auto status, source->Stat(name, backends::Follow::kYes), shown);
    if (!status) return model::Propagate(model::IoError(ENOENT, "open").value(), shown);
    if (status->is_file()) return Finished(std::move(source), name, opener);
  }
  NDLFS_TRY(SourcePtr source, opener->OpenNamed(text, url), shown);
  if (name.empty()) {
    const auto& remote = dynamic_cast<const backends::RemoteSource&>(*source);
    NDLFS_RETURN_IF_ERROR(remote.CheckTop());  // names the URL
  }
  return Finished(std::move(source), "", opener);
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
