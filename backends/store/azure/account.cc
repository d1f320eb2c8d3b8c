// SPDX-License-Identifier: MIT
#include "backends/store/azure/account.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "backends/base/percent_encoding.h"
#include "backends/store/http/url.h"
#include "backends/store/keys.h"

namespace ndlfs::backends::azure {
namespace {

constexpr std::array<std::string_view, 4> kBlobHosts = {
    ".blob.core.windows.net", ".blob.core.chinacloudapi.cn", ".blob.core.usgovcloudapi.net",
    ".blob.storage.azure.net"};

// The account and key that the emulator of Microsoft has.
constexpr std::string_view kEmulatorAccount = "devstoreaccount1";
constexpr std::string_view kEmulatorKey =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

bool IsName(std::string_view text, std::string_view more) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || more.find(c) != more.npos;
  });
}

model::Result<void> CheckContainer(std::string_view name) {
  const bool is_sound = name.size() >= 3 && name.size() <= 63 && IsName(name, "-");
  if (is_sound || name == "$root" || name == "$web") return {};
  return model::BadInput("{} is not the name of a container", model::Quote(name));
}

// "/a/b/" -> "a/b"
model::Result<std::string> PrefixOf(std::string_view encoded_path) {
  const auto path = PercentDecode(encoded_path);
  if (!path) return model::BadInput("{} is no path", model::Quote(encoded_path));
  std::string prefix = path->substr(std::min<size_t>(1, path->size()));
  while (prefix.ends_with('/')) prefix.pop_back();
  if (!prefix.empty()) NDLFS_RETURN_IF_ERROR(CheckKey(prefix));
  return prefix;
}

// Sets account and endpoint by the name of a host, which also may be that of the service for
// directories.
model::Result<void> SetHost(BlobPlace& place, std::string host) {
  const size_t dot = std::min(host.find('.'), host.size());
  constexpr std::string_view kDirectories = ".dfs.";
  if (host.compare(dot, kDirectories.size(), kDirectories) == 0) {
    host.replace(dot, kDirectories.size(), ".blob.");
  }
  if (!IsBlobHost(host)) {
    return model::BadInput("{} is not a host of Azure, such as ACCOUNT.dfs.core.windows.net",
                           model::Quote(host));
  }
  place.account = AccountIn(host);
  place.endpoint = "https://" + host;
  return CheckAccount(place.account);
}

model::Result<BlobPlace> OfHttps(const Url& url) {
  BlobPlace place;
  NDLFS_RETURN_IF_ERROR(SetHost(place, url.host));
  place.sas = url.query;
  const size_t slash = std::min(url.path.find('/', 1), url.path.size());
  const auto container = PercentDecode(std::string_view(url.path).substr(1, slash - 1));
  if (!container || container->empty()) {
    return model::BadInput("{}: a container has to follow the host", url.ForMessages());
  }
  place.container = *container;
  NDLFS_RETURN_IF_ERROR(CheckContainer(place.container));
  NDLFS_TRY(place.prefix, PrefixOf(std::string_view(url.path).substr(slash)));
  place.name = place.endpoint + "/" + place.container;
  return place;
}

class ConnectionString {
 public:
  explicit ConnectionString(std::string_view text) {
    while (!text.empty()) {
      const std::string_view part = text.substr(0, text.find(';'));
      text.remove_prefix(std::min(part.size() + 1, text.size()));
      const size_t equals = part.find('=');
      if (equals == part.npos) continue;
      parts_[std::string(part.substr(0, equals))] = part.substr(equals + 1);
    }
  }
  std::string Find(std::string_view name) const {
    const auto found = parts_.find(name);
    return found == parts_.end() ? "" : found->second;
  }

 private:
  std::map<std::string, std::string, std::less<>> parts_;
};

AccountSettings OfConnectionString(const ConnectionString& text) {
  if (text.Find("UseDevelopmentStorage") == "true") {
    return {.account = std::string(kEmulatorAccount),
            .endpoint = fmt::format("http://127.0.0.1:10000/{}", kEmulatorAccount),
            .key = std::string(kEmulatorKey),
            .sas = ""};
  }
  AccountSettings settings = {.account = text.Find("AccountName"),
                              .endpoint = text.Find("BlobEndpoint"),
                              .key = text.Find("AccountKey"),
                              .sas = text.Find("SharedAccessSignature")};
  if (settings.endpoint.empty() && !settings.account.empty()) {
    const auto protocol =
        object::FirstNotEmpty({text.Find("DefaultEndpointsProtocol"), "https"});
    const auto suffix =
        object::FirstNotEmpty({text.Find("EndpointSuffix"), "core.windows.net"});
    settings.endpoint = fmt::format("{}://{}.blob.{}", protocol, settings.account, suffix);
  }
  return settings;
}

}  // namespace

bool IsBlobHost(std::string_view host) {
  return std::ranges::any_of(kBlobHosts,
                             [&](std::string_view end) { return host.ends_with(end); });
}

model::Result<BlobPlace> ParseBlobUrl(const std::string& text) {
  NDLFS_TRY(const Url url, ParseUrl(text));
  if (url.scheme == "https") return OfHttps(url);
  BlobPlace place;
  const size_t at = url.host.find('@');
  place.container = url.host.substr(0, at);
  if (at != url.host.npos) {
    NDLFS_RETURN_IF_ERROR(SetHost(place, url.host.substr(at + 1)), model::OneLine(text));
  }
  NDLFS_RETURN_IF_ERROR(CheckContainer(place.container), model::OneLine(text));
  NDLFS_TRY(place.prefix, PrefixOf(url.path));
  place.name = url.scheme + "://" + url.host;
  return place;
}

model::Result<AccountSettings> ReadAccountSettings(const object::GetVariable& variable) {
  const std::string connection = variable("AZURE_STORAGE_CONNECTION_STRING");
  if (!connection.empty()) {
    auto settings = OfConnectionString(ConnectionString(connection));
    if (!settings.endpoint.empty()) return settings;
    return model::BadInput(
        "AZURE_STORAGE_CONNECTION_STRING has neither AccountName nor BlobEndpoint");
  }
  return AccountSettings{
      .account = object::FirstNotEmpty(
          {variable("AZURE_STORAGE_ACCOUNT"), variable("AZURE_STORAGE_ACCOUNT_NAME")}),
      .endpoint = "",
      .key = object::FirstNotEmpty({variable("AZURE_STORAGE_KEY"),
                                    variable("AZURE_STORAGE_ACCOUNT_KEY"),
                                    variable("AZURE_STORAGE_ACCESS_KEY")}),
      .sas = variable("AZURE_STORAGE_SAS_TOKEN")};
}

model::Result<void> CheckAccount(std::string_view account) {
  if (account.size() >= 3 && account.size() <= 24 && IsName(account, "")) return {};
  return model::BadInput("{} is not the name of an account", model::Quote(account));
}

std::string AccountIn(std::string_view host) {
  return std::string(IsBlobHost(host) ? host.substr(0, host.find('.')) : "");
}

std::string EndpointOf(std::string_view account) {
  return fmt::format("https://{}{}", account, kBlobHosts[0]);
}

}  // namespace ndlfs::backends::azure
