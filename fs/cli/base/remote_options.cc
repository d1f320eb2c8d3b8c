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

#include "fs/cli/base/option_setters.h"
#include "fs/cli/base/option_tables.h"
#include "fs/cli/base/option_values.h"
#include "fs/serve/open_source.h"

namespace ndlfs::fs {
namespace {

using model::Quote;
using model::Result;

// The path of a file that can be read. Absolute: the background process works in "/".
Result<std::string> ParseFile(std::string_view value) {
  std::string path = std::filesystem::absolute(value).lexically_normal();
  if (value.empty() || ::access(path.c_str(), R_OK) != 0) {
    return model::BadInput("{} is not a file that can be read", Quote(value));
  }
  return path;
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
                Set<&RemoteAccess::ca_file, ParseFile>},
    MountOption{"token-file", "FILE", "File with a token for the server of the source",
                Set<&RemoteAccess::token_file, ParseFile>},
    MountOption{"urls", "FILE",
                "Settings for the beginnings of URLs (~/.config/ndlfs/urls.yaml)",
                Set<&RemoteAccess::urls_file, ParseFile>},
    MountOption{"allow-urls", "LIST",
                "Other URLs that redirects and references may lead to (none)", SetAllowUrls},
    MountOption{"ref", "REF",
                "Version of a repository: branch=NAME, tag=NAME, snapshot=ID, at=TIME",
                Set<&RemoteAccess::ref, ParseText>},
    MountOption{"endpoint", "URL", "Server of a bucket (as the tools of its provider have it)",
                Set<&RemoteAccess::endpoint, ParseText>},
    MountOption{"region", "NAME", "Region of the bucket (ndlfs finds it out)",
                Set<&RemoteAccess::region, ParseText>},
    MountOption{"no-sign-request", "", "Read a public bucket without credentials",
                Switch<&RemoteAccess::signs_requests, false>},
    MountOption{"requester-pays", "", "Pay for requests to a bucket whose owner does not",
                Switch<&RemoteAccess::requester_pays>},
    MountOption{"block-cache", "DIR", "Directory to keep what was read; made if need be (none)",
                Set<&RemoteAccess::block_cache, ParseDirectory>},
    MountOption{"block-cache-size", "SIZE", "Disk space for it (10GiB)",
                Set<&RemoteAccess::block_cache_size, ParseSize>},
};

}  // namespace

std::span<const MountOption> RemoteOptions() { return kRemoteOptions; }

}  // namespace ndlfs::fs
