// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fs/cli/base/nearest.h"
#include "fs/cli/base/option_values.h"
#include "fs/cli/base/options.h"
#include "fs/serve/mount_options.h"
#include "fs/serve/open_source.h"
#include "model/error.h"
#include "model/number_text.h"

namespace ndlfs::fs {
namespace {

using model::Quote;
using model::Result;

// How most options are set: a member of the options, and the parser of its value.

// `kMember` is one of MountOptions, or of the RemoteAccess in it.
template <auto kMember>
auto& MemberOf(MountOptions& options) {
  if constexpr (requires { options.*kMember; }) {
    return options.*kMember;
  } else {
    return options.remote.*kMember;
  }
}

// MountOption::set of an option with a value.
template <auto kMember, auto kParse>
Result<void> Set(MountOptions& options, std::string_view value) {
  NDLFS_TRY(MemberOf<kMember>(options), kParse(value));
  return {};
}

// MountOption::set of a switch.
template <auto kMember, bool kValue = true>
Result<void> Switch(MountOptions& options, std::string_view /*value*/) {
  MemberOf<kMember>(options) = kValue;
  return {};
}

// A parser for Set(): the text as it is.
Result<std::string> ParseText(std::string_view text) { return std::string(text); }

// The number of the user or group with this name.
std::optional<uint32_t> FindUser(const std::string& name) {
  const passwd* user = ::getpwnam(name.c_str());
  return user != nullptr ? std::optional(user->pw_uid) : std::nullopt;
}

std::optional<uint32_t> FindGroup(const std::string& name) {
  const ::group* group = ::getgrnam(name.c_str());
  return group != nullptr ? std::optional(group->gr_gid) : std::nullopt;
}

// Parses the number of a user or group. The largest number means "none" to the
// system, and is refused.
Result<uint32_t> ParseId(std::string_view value,
                         std::optional<uint32_t> (*find)(const std::string&)) {
  const auto id = model::ParseNumber<uint32_t>(value);
  if (id && *id != std::numeric_limits<uint32_t>::max()) return *id;
  const auto named = find(std::string(value));
  return model::BadInput("{} is not the number of a user or group{}", Quote(value),
                         named ? fmt::format(" (did you mean {}?)", *named) : "");
}

Result<uint32_t> ParseUser(std::string_view value) { return ParseId(value, &FindUser); }
Result<uint32_t> ParseGroup(std::string_view value) { return ParseId(value, &FindGroup); }

Result<uint32_t> ParseUmask(std::string_view value) {
  const auto mask = model::ParseNumber<uint32_t>(value, 8);
  if (!mask || *mask > 0777) {
    return model::BadInput("{} is not an octal number from 0 to 0777", Quote(value));
  }
  return *mask;
}

constexpr std::array kOnlyMountOptions = {
    MountOption{"allow-other", "", "Let other users see the files",
                Switch<&MountOptions::allow_other>},
    MountOption{"uid", "UID", "Owner of all files (that of the source)",
                Set<&MountOptions::uid, ParseUser>},
    MountOption{"gid", "GID", "Group of all files (that of the source)",
                Set<&MountOptions::gid, ParseGroup>},
    MountOption{"umask", "MASK", "Permissions to remove, octal",
                Set<&MountOptions::umask, ParseUmask>},
    MountOption{"inode32", "", "Inode numbers of 32 bits, for old programs",
                Switch<&MountOptions::inode32>},
    MountOption{"foreground", "", "Stay in the foreground until unmounted",
                Switch<&MountOptions::foreground>},
};

Result<std::string> ParseNameOfDirectory(std::string_view value) {
  if (value.empty()) return model::BadInput("is not the name of a directory");
  return std::string(value);
}

Result<uint64_t> ParseDecodedCacheSize(std::string_view value) {
  NDLFS_TRY(const uint64_t size, ParseSize(value));
  if (size != 0) return size;
  return model::BadInput("with 0 nothing would be kept; leave --decoded-cache out instead");
}

// Caches: memory and disk for decoded data.
constexpr std::array kCacheOptions = {
    MountOption{"cache-size", "SIZE", "Memory for decoded chunks (512MiB)",
                Set<&MountOptions::cache_size, ParseSize>},
    MountOption{"cache-dir", "DIR",
                "Directory for decoded chunks that do not fit in memory (/var/tmp)",
                Set<&MountOptions::cache_dir, ParseNameOfDirectory>},
    MountOption{"cache-dir-size", "SIZE", "Disk space for these chunks; 0 for none (8GiB)",
                Set<&MountOptions::cache_dir_size, ParseSize>},
    MountOption{
        "decoded-cache", "DIR",
        "Directory to keep files in that were read to their end; made if need be (none)",
        Set<&MountOptions::decoded_cache, ParseDirectory>},
    MountOption{"decoded-cache-size", "SIZE", "Disk space for them (10GiB)",
                Set<&MountOptions::decoded_cache_size, ParseDecodedCacheSize>},
};

Result<unsigned> ParseFetches(std::string_view value) {
  const auto fetches = model::ParseNumber<unsigned>(value);
  if (!fetches || *fetches == 0 || *fetches > kMaxThreads) {
    return model::BadInput("{} is not a number from 1 to {}", Quote(value), kMaxThreads);
  }
  return *fetches;
}

Result<std::string> ParseLogFile(std::string_view value) {
  if (value.empty()) return model::BadInput("is not the name of a file");
  return std::string(value);
}

Result<std::string> ParseLogLevel(std::string_view value) {
  const auto levels = OptionChoices("log-level");
  if (std::ranges::find(levels, value) == levels.end()) {
    return model::BadInput("{} is not one of {}{}", Quote(value), fmt::join(levels, ", "),
                           DidYouMean(value, levels));
  }
  return std::string(value);
}

// The process: its threads and its log.
constexpr std::array kProcessOptions = {
    MountOption{"threads", "N", "Reads that are served at once (one per core)",
                Set<&MountOptions::threads, ParseThreads>},
    MountOption{"fetches", "N", "Chunks that a slow source is asked for at once (64)",
                Set<&MountOptions::fetches, ParseFetches>},
    MountOption{"log-file", "FILE", "File to append messages to (the system log)",
                Set<&MountOptions::log_file, ParseLogFile>},
    MountOption{"log-level", "LEVEL", "trace, debug, info, warn, error, critical or off (info)",
                Set<&MountOptions::log_level, ParseLogLevel>},
};

Result<uint64_t> ParseChunkSize(std::string_view value) {
  NDLFS_TRY(const uint64_t size, ParseSize(value));
  if (size == 0) return model::BadInput("must be at least one byte");
  return size;
}

// The source: how ndlfs looks at it, and what it takes for a store.
constexpr std::array kSourceOptions = {
    MountOption{"revalidate", "SECONDS",
                "Time to trust a look at the source before looking again (1)",
                Set<&MountOptions::revalidate_seconds, ParseSeconds>},
    MountOption{"immutable", "", "The source does not change while it is mounted",
                Switch<&MountOptions::immutable>},
    MountOption{"detect", "HOW", "Recognize stores by content or only by name (content)",
                Set<&MountOptions::detection, ParseDetection>},
    MountOption{"max-chunk-size", "SIZE",
                "Do not read arrays with larger decoded chunks (1GiB)",
                Set<&MountOptions::max_chunk_size, ParseChunkSize>},
};

// Views: which there are, and in which of them stores are shown.
constexpr std::array kViewOptions = {
    MountOption{"zarr-chunks", "HOW",
                "Chunks in data.zarr: raw, or as stored where Zarr has words for that (raw)",
                Set<&MountOptions::passes_stored_chunks, ParseZarrChunks>},
    MountOption{"as", "VIEW", "Show each store as one file: nc, h5, or as Zarr: zarr, zarr2",
                Set<&MountOptions::as, ParseAs>},
    MountOption{"views", "LIST", "Files to list: npy,raw,... or all (what fits the data)",
                Set<&MountOptions::views, ParseViews>},
    MountOption{"max-scan", "SIZE",
                "Decode up to this much to find the size of a data.jsonl (1GiB)",
                Set<&MountOptions::max_scan, ParseSize>},
};

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

std::vector<const MountOption*> AllMountOptions() {
  using Table = std::span<const MountOption>;
  std::vector<const MountOption*> all;
  for (const Table table :
       {Table(kCacheOptions), Table(kProcessOptions), Table(kOnlyMountOptions),
        Table(kSourceOptions), Table(kViewOptions), Table(kRemoteOptions)}) {
    for (const MountOption& option : table) all.push_back(&option);
  }
  return all;
}

std::span<const MountOption> OnlyMountOptions() { return kOnlyMountOptions; }
std::span<const MountOption> RemoteOptions() { return kRemoteOptions; }

}  // namespace ndlfs::fs
