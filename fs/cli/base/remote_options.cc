// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "fs/cli/base/option_tables.h"
#include "fs/cli/base/option_values.h"
#include "fs/serve/open_source.h"

namespace ndlfs::fs {
namespace {

using model::Quote;
using model::Result;

// The path of a file that can be read. Absolute: the background process works in "/".
Result<void> SetFile(std::string& file, std::string_view value) {
  const std::string path = std::filesystem::absolute(value).lexically_normal();
  if (value.empty() || ::access(path.c_str(), R_OK) != 0) {
    return model::BadInput("{} is not a file that can be read", Quote(value));
  }
  file = path;
  return {};
}

Result<void> SetBlockCache(MountOptions& options, std::string_view value) {
  if (value.empty()) return model::BadInput("is not the name of a directory");
  options.remote.block_cache = std::filesystem::absolute(value).lexically_normal();
  return {};
}

Result<void> SetAllowUrls(MountOptions& options, std::string_view value) {
  options.remote.allow_urls_text = value;
  options.remote.allow_urls.clear();
  while (!value.empty()) {
    const size_t end = std::min(value.find(','), value.size());
    const std::string url(value.substr(0, end));
    if (!IsUrl(url)) return model::BadInput("{} is not a URL", Quote(url));
    options.remote.allow_urls.push_back(url);
    value.remove_prefix(std::min(end + 1, value.size()));
  }
  return {};
}

// A request to a server may take as long as the request to the mount that needs it.
Result<void> SetTimeout(MountOptions& options, std::string_view value) {
  NDLFS_TRY(const double seconds, ParseSeconds(value));
  constexpr auto kNever = std::chrono::hours(24);
  options.timeout_seconds = seconds;
  options.remote.timeout =
      seconds == 0
          ? std::chrono::milliseconds(kNever)
          : std::chrono::milliseconds(std::max<int64_t>(std::llround(seconds * 1000), 1));
  return {};
}

constexpr std::array kRemoteOptions = {
    MountOption{"timeout", "SECONDS", "Time after which a request fails; 0: never (30)",
                SetTimeout},
    MountOption{"ca-file", "FILE", "Certificates to trust, PEM (those of the system)",
                [](MountOptions& options, std::string_view value) -> Result<void> {
                  return SetFile(options.remote.ca_file, value);
                }},
    MountOption{"token-file", "FILE", "File with a token for the server of the source",
                [](MountOptions& options, std::string_view value) -> Result<void> {
                  return SetFile(options.remote.token_file, value);
                }},
    MountOption{"urls", "FILE",
                "Settings for the beginnings of URLs (~/.config/ndlfs/urls.yaml)",
                [](MountOptions& options, std::string_view value) -> Result<void> {
                  return SetFile(options.remote.urls_file, value);
                }},
    MountOption{"allow-urls", "LIST",
                "Other URLs that redirects and references may lead to (none)", SetAllowUrls},
    MountOption{"ref", "REF",
                "Version of a repository: branch=NAME, tag=NAME, snapshot=ID, at=TIME",
                [](MountOptions& options, std::string_view value) -> Result<void> {
                  options.remote.ref = value;
                  return {};
                }},
    MountOption{"endpoint", "URL", "Server of a bucket (as the tools of its provider have it)",
                [](MountOptions& options, std::string_view value) -> Result<void> {
                  options.remote.endpoint = value;
                  return {};
                }},
    MountOption{"region", "NAME", "Region of the bucket (ndlfs finds it out)",
                [](MountOptions& options, std::string_view value) -> Result<void> {
                  options.remote.region = value;
                  return {};
                }},
    MountOption{"no-sign-request", "", "Read a public bucket without credentials",
                [](MountOptions& options, std::string_view) -> Result<void> {
                  options.remote.signs_requests = false;
                  return {};
                }},
    MountOption{"requester-pays", "", "Pay for requests to a bucket whose owner does not",
                [](MountOptions& options, std::string_view) -> Result<void> {
                  options.remote.requester_pays = true;
                  return {};
                }},
    MountOption{"block-cache", "DIR", "Directory to keep what was read; made if need be (none)",
                SetBlockCache},
    MountOption{"block-cache-size", "SIZE", "Disk space for it (10GiB)",
                [](MountOptions& options, std::string_view value) -> Result<void> {
                  NDLFS_TRY(options.remote.block_cache_size, ParseSize(value));
                  return {};
                }},
};

}  // namespace

std::span<const MountOption> RemoteOptions() { return kRemoteOptions; }

}  // namespace ndlfs::fs
