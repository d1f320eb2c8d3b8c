// SPDX-License-Identifier: MIT
#include "fs/cli/base/options.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "fs/cli/base/nearest.h"
#include "fs/serve/open_source.h"
#include "fs/view/all_views.h"
#include "model/number_text.h"

namespace ndlfs::fs {
namespace {

using model::Quote;
using model::Result;

constexpr unsigned kMaxThreads = 1024;
constexpr double kMaxSeconds = 1e9;

// Options that mount(8), fstab and systemd pass to every file system, but that do not
// concern file systems, or that hold for every ndlfs mount anyway.
constexpr std::array<std::string_view, 43> kGenericOptions = {"_netdev",
                                                              "async",
                                                              "atime",
                                                              "auto",
                                                              "comment",
                                                              "default_permissions",
                                                              "defaults",
                                                              "dev",
                                                              "diratime",
                                                              "dirsync",
                                                              "exec",
                                                              "group",
                                                              "iversion",
                                                              "lazytime",
                                                              "loud",
                                                              "mand",
                                                              "noatime",
                                                              "noauto",
                                                              "nodev",
                                                              "nodiratime",
                                                              "noexec",
                                                              "nofail",
                                                              "nogroup",
                                                              "noiversion",
                                                              "nolazytime",
                                                              "nomand",
                                                              "noowner",
                                                              "norelatime",
                                                              "nostrictatime",
                                                              "nosuid",
                                                              "nouser",
                                                              "nousers",
                                                              "owner",
                                                              "relatime",
                                                              "ro",
                                                              "rw",
                                                              "silent",
                                                              "strictatime",
                                                              "suid",
                                                              "sync",
                                                              "uhelper",
                                                              "user",
                                                              "users"};

constexpr std::array<std::string_view, 7> kLogLevels = {"trace", "debug",    "info", "warn",
                                                        "error", "critical", "off"};

constexpr std::array<std::string_view, 2> kZarrChunks = {"raw", "stored"};
constexpr std::array<std::string_view, 2> kDetections = {"content", "name"};
constexpr std::array<std::string_view, 2> kFormats = {"text", "json"};

bool IsGeneric(std::string_view name) {
  return name.starts_with("x-") || name.starts_with("X-") ||
         std::find(kGenericOptions.begin(), kGenericOptions.end(), name) !=
             kGenericOptions.end();
}

Result<void> SetThreads(MountOptions& options, std::string_view value) {
  NDLFS_TRY(options.threads, ParseThreads(value));
  return {};
}

Result<void> SetFetches(MountOptions& options, std::string_view value) {
  const auto fetches = model::ParseNumber<unsigned>(value);
  if (!fetches || *fetches == 0 || *fetches > kMaxThreads) {
    return model::BadInput("{} is not a number from 1 to {}", Quote(value), kMaxThreads);
  }
  options.fetches = *fetches;
  return {};
}

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

Result<void> SetUmask(MountOptions& options, std::string_view value) {
  const auto mask = model::ParseNumber<uint32_t>(value, 8);
  if (!mask || *mask > 0777) {
    return model::BadInput("{} is not an octal number from 0 to 0777", Quote(value));
  }
  options.umask = *mask;
  return {};
}

Result<double> ParseSeconds(std::string_view value) {
  double seconds = 0;
  const char* const end = value.data() + value.size();
  const auto [stop, error] =
      std::from_chars(value.data(), end, seconds, std::chars_format::fixed);
  if (error != std::errc() || stop != end || !(seconds >= 0 && seconds <= kMaxSeconds)) {
    return model::BadInput("{} is not a number of seconds, such as 1 or 0.5", Quote(value));
  }
  return seconds;
}

Result<void> SetRevalidate(MountOptions& options, std::string_view value) {
  NDLFS_TRY(options.revalidate_seconds, ParseSeconds(value));
  return {};
}

Result<void> SetMaxChunkSize(MountOptions& options, std::string_view value) {
  NDLFS_TRY(options.max_chunk_size, ParseSize(value));
  if (options.max_chunk_size == 0) return model::BadInput("must be at least one byte");
  return {};
}

Result<void> SetCacheDir(MountOptions& options, std::string_view value) {
  if (value.empty()) return model::BadInput("is not the name of a directory");
  options.cache_dir = value;
  return {};
}

Result<void> SetLogFile(MountOptions& options, std::string_view value) {
  if (value.empty()) return model::BadInput("is not the name of a file");
  options.log_file = value;
  return {};
}

Result<void> SetLogLevel(MountOptions& options, std::string_view value) {
  if (std::find(kLogLevels.begin(), kLogLevels.end(), value) == kLogLevels.end()) {
    return model::BadInput("{} is not one of {}{}", Quote(value), fmt::join(kLogLevels, ", "),
                           DidYouMean(value, kLogLevels));
  }
  options.log_level = value;
  return {};
}

// The path of a file that can be read. Absolute: the background process works in "/".
Result<void> SetFile(std::string& file, std::string_view value) {
  const std::string path = std::filesystem::absolute(value).lexically_normal();
  if (value.empty() || ::access(path.c_str(), R_OK) != 0) {
    return model::BadInput("{} is not a file that can be read", Quote(value));
  }
  file = path;
  return {};
}

// Absolute: the background process works in "/".
Result<void> SetDecodedCache(MountOptions& options, std::string_view value) {
  if (value.empty()) return model::BadInput("is not the name of a directory");
  options.decoded_cache = std::filesystem::absolute(value).lexically_normal();
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

Result<void> SetZarrChunks(MountOptions& options, std::string_view value) {
  if (std::find(kZarrChunks.begin(), kZarrChunks.end(), value) == kZarrChunks.end()) {
    return model::BadInput("{} is not one of {}{}", Quote(value), fmt::join(kZarrChunks, ", "),
                           DidYouMean(value, kZarrChunks));
  }
  options.passes_stored_chunks = value == kZarrChunks[1];
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

constexpr std::array kMountOptions = {
    MountOption{"cache-size", "SIZE", "Memory for decoded chunks (512MiB)", false,
                [](MountOptions& options, std::string_view value) -> Result<void> {
                  NDLFS_TRY(options.cache_size, ParseSize(value));
                  return {};
                }},
    MountOption{"cache-dir", "DIR",
                "Directory for decoded chunks that do not fit in memory (/var/tmp)", false,
                SetCacheDir},
    MountOption{
        "decoded-cache", "DIR",
        "Directory to keep files in that were read to their end; made if need be (none)", false,
        SetDecodedCache},
    MountOption{"decoded-cache-size", "SIZE", "Disk space for them (10GiB)", false,
                [](MountOptions& options, std::string_view value) -> Result<void> {
                  NDLFS_TRY(options.decoded_cache_size, ParseSize(value));
                  return {};
                }},
    MountOption{"cache-dir-size", "SIZE", "Disk space for these chunks; 0 for none (8GiB)",
                false,
                [](MountOptions& options, std::string_view value) -> Result<void> {
                  NDLFS_TRY(options.cache_dir_size, ParseSize(value));
                  return {};
                }},
    MountOption{"threads", "N", "Reads that are served at once (one per core)", false,
                SetThreads},
    MountOption{"fetches", "N", "Chunks that a slow source is asked for at once (64)", false,
                SetFetches},
    MountOption{"timeout", "SECONDS", "Time after which a request fails; 0: never (30)", true,
                SetTimeout},
    MountOption{"allow-other", "", "Let other users see the files", false,
                [](MountOptions& options, std::string_view) -> Result<void> {
                  options.allow_other = true;
                  return {};
                }},
    MountOption{"uid", "UID", "Owner of all files (that of the source)", false,
                [](MountOptions& options, std::string_view value) -> Result<void> {
                  NDLFS_TRY(options.uid, ParseId(value, &FindUser));
                  return {};
                }},
    MountOption{"gid", "GID", "Group of all files (that of the source)", false,
                [](MountOptions& options, std::string_view value) -> Result<void> {
                  NDLFS_TRY(options.gid, ParseId(value, &FindGroup));
                  return {};
                }},
    MountOption{"umask", "MASK", "Permissions to remove, octal", false, SetUmask},
    MountOption{"revalidate", "SECONDS",
                "Time to trust a look at the source before looking again (1)", false,
                SetRevalidate},
    MountOption{"immutable", "", "The source does not change while it is mounted", false,
                [](MountOptions& options, std::string_view) -> Result<void> {
                  options.immutable = true;
                  return {};
                }},
    MountOption{"inode32", "", "Inode numbers of 32 bits, for old programs", false,
                [](MountOptions& options, std::string_view) -> Result<void> {
                  options.inode32 = true;
                  return {};
                }},
    MountOption{"detect", "HOW", "Recognize stores by content or only by name (content)", false,
                [](MountOptions& options, std::string_view value) -> Result<void> {
                  NDLFS_TRY(options.detection, ParseDetection(value));
                  return {};
                }},
    MountOption{"max-chunk-size", "SIZE",
                "Do not read arrays with larger decoded chunks (1GiB)", false, SetMaxChunkSize},
    MountOption{"max-scan", "SIZE",
                "Decode up to this much to find the size of a data.jsonl (1GiB)", false,
                [](MountOptions& options, std::string_view value) -> Result<void> {
                  NDLFS_TRY(options.max_scan, ParseSize(value));
                  return {};
                }},
    MountOption{"zarr-chunks", "HOW",
                "Chunks in data.zarr: raw, or as stored where Zarr has words for that (raw)",
                false, SetZarrChunks},
    MountOption{"as", "VIEW", "Show each store as one file: nc, h5, or as Zarr: zarr, zarr2",
                false,
                [](MountOptions& options, std::string_view value) -> Result<void> {
                  NDLFS_TRY(options.as, ParseAs(value));
                  return {};
                }},
    MountOption{"views", "LIST", "Files to list: npy,raw,... or all (what fits the data)",
                false,
                [](MountOptions& options, std::string_view value) -> Result<void> {
                  NDLFS_TRY(options.views, ParseViews(value));
                  return {};
                }},
    MountOption{"ca-file", "FILE", "Certificates to trust, PEM (those of the system)", true,
                [](MountOptions& options, std::string_view value) -> Result<void> {
                  return SetFile(options.remote.ca_file, value);
                }},
    MountOption{"token-file", "FILE", "File with a token for the server of the source", true,
                [](MountOptions& options, std::string_view value) -> Result<void> {
                  return SetFile(options.remote.token_file, value);
                }},
    MountOption{"urls", "FILE",
                "Settings for the beginnings of URLs (~/.config/ndlfs/urls.yaml)", true,
                [](MountOptions& options, std::string_view value) -> Result<void> {
                  return SetFile(options.remote.urls_file, value);
                }},
    MountOption{"allow-urls", "LIST",
                "Other URLs that redirects and references may lead to (none)", true,
                SetAllowUrls},
    MountOption{"ref", "REF",
                "Version of a repository: branch=NAME, tag=NAME, snapshot=ID, at=TIME", true,
                [](MountOptions& options, std::string_view value) -> Result<void> {
                  options.remote.ref = value;
                  return {};
                }},
    MountOption{
        "endpoint", "URL", "Server of a bucket (as the tools of its provider have it)", true,
        [](MountOptions& options, std::string_view value) -> Result<void> {
          options.remote.endpoint = value;
          return {};
        }},
    MountOption{"region", "NAME", "Region of the bucket (ndlfs finds it out)", true,
                [](MountOptions& options, std::string_view value) -> Result<void> {
                  options.remote.region = value;
                  return {};
                }},
    MountOption{"no-sign-request", "", "Read a public bucket without credentials", true,
                [](MountOptions& options, std::string_view) -> Result<void> {
                  options.remote.signs_requests = false;
                  return {};
                }},
    MountOption{"requester-pays", "", "Pay for requests to a bucket whose owner does not", true,
                [](MountOptions& options, std::string_view) -> Result<void> {
                  options.remote.requester_pays = true;
                  return {};
                }},
    MountOption{"block-cache", "DIR", "Directory to keep what was read; made if need be (none)",
                true, SetBlockCache},
    MountOption{"block-cache-size", "SIZE", "Disk space for it (10GiB)", true,
                [](MountOptions& options, std::string_view value) -> Result<void> {
                  NDLFS_TRY(options.remote.block_cache_size, ParseSize(value));
                  return {};
                }},
    MountOption{"log-file", "FILE", "File to append messages to (the system log)", false,
                SetLogFile},
    MountOption{"log-level", "LEVEL", "trace, debug, info, warn, error, critical or off (info)",
                false, SetLogLevel},
    MountOption{"foreground", "", "Stay in the foreground until unmounted", false,
                [](MountOptions& options, std::string_view) -> Result<void> {
                  options.foreground = true;
                  return {};
                }},
};

constexpr std::array<std::pair<std::string_view, int>, 5> kUnits = {
    {{"", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}}};

// A correction for a number of `digits` digits with an unknown unit.
std::string SizeProposal(std::string_view text, size_t digits) {
  std::string given(text.substr(digits));
  for (char& c : given) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const auto& [unit, shift] : kUnits) {
    if (digits == 0 || unit.empty()) continue;
    const std::string letter(1, static_cast<char>(std::tolower(unit[0])));
    for (const char* rest : {"", "b", "ib"}) {
      if (given != letter + rest) continue;
      return fmt::format(" (did you mean {}{}?)", text.substr(0, digits), unit);
    }
  }
  return ", such as 64KiB, 512MiB or 2GiB";
}

std::string Replaced(std::string_view text, char from, char to) {
  std::string out(text);
  std::replace(out.begin(), out.end(), from, to);
  return out;
}

// Removes the first item from a list. `\,` in an item is a comma.
std::string TakeItem(std::string_view& list) {
  std::string item;
  while (!list.empty()) {
    const char c = list.front();
    list.remove_prefix(1);
    if (c == ',') break;
    if (c == '\\' && !list.empty()) {
      item += list.front();
      list.remove_prefix(1);
    } else {
      item += c;
    }
  }
  return item;
}

// The option that `name` may misspell, with hyphens or underscores as in `name`.
std::string Proposal(std::string_view name) {
  const bool underscores = name.find('_') != std::string_view::npos;
  std::vector<std::string> spellings;
  for (const MountOption& option : kMountOptions) {
    spellings.push_back(underscores ? Replaced(option.name, '-', '_')
                                    : std::string(option.name));
  }
  const std::vector<std::string_view> candidates(spellings.begin(), spellings.end());
  const std::string proposal = DidYouMean(name, candidates);
  return proposal.empty() ? "; see ndlfs mount --help" : proposal;
}

Result<void> ApplyItem(std::string_view item, Unknown unknown, MountOptions& options) {
  const size_t equals = item.find('=');
  const std::string_view name = item.substr(0, equals);
  const bool has_value = equals != std::string_view::npos;
  if (IsGeneric(name)) return {};
  if (name == "remount") {
    return model::BadInput(
        "mount option remount: the options of a mount of ndlfs cannot change; unmount it, and "
        "mount it again");
  }
  const std::string hyphened = Replaced(name, '_', '-');
  const auto* option = std::find_if(kMountOptions.begin(), kMountOptions.end(),
                                    [&](const auto& o) { return o.name == hyphened; });
  if (option == kMountOptions.end()) {
    if (unknown == Unknown::kIgnore) return {};
    return model::BadInput("unknown mount option {}{}", Quote(name), Proposal(name));
  }
  if (option->argument.empty() == has_value) {
    return model::BadInput("mount option {} {}", name,
                           has_value
                               ? "takes no value"
                               : fmt::format("needs a value: {}={}", name, option->argument));
  }
  NDLFS_RETURN_IF_ERROR(option->set(options, has_value ? item.substr(equals + 1) : ""),
                        fmt::format("mount option {}", name));
  return {};
}

}  // namespace

std::span<const MountOption> AllMountOptions() { return kMountOptions; }

// The values of --as: the short names of the files that hold the data of a group.
static std::vector<std::string_view> GroupViewNames() {
  std::vector<std::string_view> names;
  for (const GroupViewKind* kind : GroupViewKinds()) {
    const auto path = ViewPath::Parse(kind->file_name);
    if (path && path->is_whole()) names.push_back(ShortName(kind->file_name));
  }
  return names;
}

std::vector<std::string_view> OptionChoices(std::string_view name) {
  const auto list = [](const auto& names) {
    return std::vector<std::string_view>(names.begin(), names.end());
  };
  if (name == "log-level") return list(kLogLevels);
  if (name == "detect") return list(kDetections);
  if (name == "format") return list(kFormats);
  if (name == "view") return ShortViewNames();
  if (name == "as") return GroupViewNames();
  if (name != "views") return {};
  auto views = ShortViewNames();
  views.emplace_back("all");
  return views;
}

Result<void> ApplyOptionList(std::string_view list, Unknown unknown, MountOptions& options) {
  while (!list.empty()) {
    const std::string item = TakeItem(list);
    if (!item.empty()) NDLFS_RETURN_IF_ERROR(ApplyItem(item, unknown, options));
  }
  return {};
}

Result<unsigned> ParseThreads(std::string_view text) {
  const auto threads = model::ParseNumber<unsigned>(text);
  if (threads && *threads <= kMaxThreads) return *threads;
  return model::BadInput("{} is not a number from 0 (one per core) to {}", Quote(text),
                         kMaxThreads);
}

Result<backends::Detection> ParseDetection(std::string_view text) {
  if (text == kDetections[0]) return backends::Detection::kContent;
  if (text == kDetections[1]) return backends::Detection::kName;
  return model::BadInput("{} is not one of {}{}", Quote(text), fmt::join(kDetections, ", "),
                         DidYouMean(text, kDetections));
}

Result<ListedViews> ParseViews(std::string_view text) {
  if (text == "all") return ListedViews::All();
  const std::vector<std::string_view> known = ShortViewNames();
  std::vector<std::string> names;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find_first_of(",:", begin), text.size());
    const std::string_view name = ShortName(text.substr(begin, end - begin));
    if (name == "all") return model::BadInput("\"all\" must be the only name");
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return model::BadInput("{} is not one of {}, all{}", Quote(name), fmt::join(known, ", "),
                             DidYouMean(name, known));
    }
    names.emplace_back(name);
    begin = end + 1;
  }
  return ListedViews(std::move(names));
}

Result<std::string> ParseAs(std::string_view text) {
  const auto known = GroupViewNames();
  if (std::find(known.begin(), known.end(), text) != known.end()) return std::string(text);
  return model::BadInput("{} is not one of {}{}", Quote(text), fmt::join(known, ", "),
                         DidYouMean(text, known));
}

Result<uint64_t> ParseSize(std::string_view text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = model::ParseNumber<uint64_t>(text.substr(0, digits));
  const auto* unit = std::find_if(kUnits.begin(), kUnits.end(), [&](const auto& u) {
    return u.first == text.substr(digits);
  });
  if (digits == 0 || unit == kUnits.end()) {
    return model::BadInput("{} is not a size{}", Quote(text), SizeProposal(text, digits));
  }
  const auto bytes =
      number ? backends::CheckedMultiply(*number, uint64_t{1} << unit->second) : std::nullopt;
  if (!bytes || *bytes > backends::kMaxViewSize) {
    return model::BadInput("{} is too large", Quote(text));
  }
  return *bytes;
}

}  // namespace ndlfs::fs
