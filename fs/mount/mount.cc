// SPDX-License-Identifier: MIT
#include "fs/mount/mount.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>
#include <utility>

#include "backends/store/local/crossing.h"
#include "fs/mount/daemonize.h"
#include "fs/mount/logging.h"
#include "fs/mount/open_source.h"
#include "fs/mount/operations.h"
#include "fs/mount/preflight.h"
#include "fs/mount/read_ahead.h"
#include "fs/mount/serve.h"
#include "fs/mount/service.h"
#include "fs/mount/session.h"
#include "fs/mount/signals_blocked.h"
#include "fs/mount/statistics.h"
#include "fs/tree/control_tree.h"
#include "fs/tree/document.h"
#include "fs/tree/mount_context.h"

namespace ndlfs::fs {
namespace {

using backends::Source;
using model::BadInput;

// No system keeps a name for longer, and more would not fit into a clock.
constexpr double kLongestRevalidation = 365.0 * 24 * 60 * 60;

constexpr double kLongestTimeout = kLongestRevalidation;

Freshness FreshnessOf(const MountOptions& options) {
  if (options.immutable) return Freshness(std::nullopt);
  const double seconds = std::clamp(options.revalidate_seconds, 0.0, kLongestRevalidation);
  return Freshness(
      std::chrono::duration_cast<Freshness::Duration>(std::chrono::duration<double>(seconds)));
}

// Threads beside those that read. Such a thread answers requests that take no time, or should
// take none. More of them would slow down all readers, because each request then wakes another
// thread: see tests/bench/RESULTS.md.
constexpr unsigned kSpareThreads = 1;

// Requests that wait for a slow source have a thread each.
constexpr unsigned kLeastWaiting = 64;

// The seconds after which the kernel ends a mount that has not answered a request; 0: never.
unsigned SecondsOfKernel() {
  unsigned least = 0;
  for (const char* name : {"default_request_timeout", "max_request_timeout"}) {
    unsigned seconds = 0;
    if (!(std::ifstream(std::string("/proc/sys/fs/fuse/") + name) >> seconds)) continue;
    if (seconds != 0 && (least == 0 || seconds < least)) least = seconds;
  }
  return least;
}

std::chrono::milliseconds AnswerWithin(const MountOptions& options) {
  double seconds = std::clamp(options.timeout_seconds, 0.0, kLongestTimeout);
  if (const unsigned most = SecondsOfKernel(); most != 0) {
    // Some time for the request to get here, and for the answer to get back.
    const double sooner = most * 0.8;
    if (seconds == 0 || seconds > sooner) {
      LogInfo(fmt::format("requests fail after {} s, because the kernel ends mounts after {} s",
                          sooner, most));
      seconds = sooner;
    }
  }
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

unsigned ThreadsOf(const MountOptions& options) {
  return options.threads != 0 ? options.threads
                              : std::max(2u, std::thread::hardware_concurrency());
}

// Many stores and chunks may be open at once; what the system grants at most
// is there to be used.
void RaiseDescriptorLimit() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// Descriptors that are not for open files: of stores and chunks that are read, of helpers, of
// connections, of the cache directory.
constexpr uint64_t kOwnDescriptors = 384;
// Open files take some hundred bytes each.
constexpr uint64_t kMostOpen = uint64_t{1} << 18;
constexpr uint64_t kLeastOpenBytes = uint64_t{64} << 20;

// Files and directories that users may have open, after RaiseDescriptorLimit().
uint64_t MostOpenFiles() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kOwnDescriptors;
  const uint64_t all = limit.rlim_cur;
  return std::min(all - std::min(kOwnDescriptors, all / 2), kMostOpen);
}

// Of a source where each look is a request, only files with the name of a store are looked
// into.
Scope ScopeOf(const MountOptions& options, const RemotePlace& place) {
  const auto detection =
      place.source->looks_are_requests() ? backends::Detection::kName : options.detection;
  return {.file = place.file,
          .detection = place.file.empty() ? detection : backends::Detection::kContent,
          .as = options.as};
}

model::Result<RemotePlace> OpenPlace(const MountOptions& options, const MountPaths& paths) {
  RemoteAccess access = options.remote;
  access.requests = options.fetches;
  const Freshness freshness = FreshnessOf(options);
  access.trusts_looks_for.reset();
  if (!freshness.immutable()) access.trusts_looks_for = freshness.interval();
  if (paths.url.empty()) {
    NDLFS_TRY(RemotePlace place, OpenLocal(paths.directory, options.allow_other, access),
              "source");
    place.file = paths.file;
    return place;
  }
  NDLFS_TRY(auto place, OpenUrl(paths.url, access), "source");
  return place;
}

// All of one mount, with the options as they are meant (paths resolved).
class Mount {
 public:
  Mount(const MountOptions& options, const RemotePlace& place)
      : options_(options),
        place_(place),
        source_(place.source),
        context_(
            source_, options.cache_size,
            cache::LoadPace::Limits{.decoders = options.threads,
                                    .fetches = options.fetches,
                                    .is_remote = source_->looks_are_requests(),
                                    .received = place.received},
            FreshnessOf(options),
            backends::OpenOptions{.max_chunk_size = options.max_chunk_size,
                                  .shared = source_->is_shared(),
                                  .search_holds = FreshnessOf(options).interval(),
                                  .answer_within = AnswerWithin(options),
                                  .ref = options.remote.ref},
            [](const backends::Hierarchy& hierarchy, std::string_view store_name,
               std::string_view path, const ReaderOf& reader_of, const auto& refused) {
              return WriteDocument(hierarchy, store_name, path, reader_of, nullptr, refused);
            },
            &LogWarning, options.cache_dir, options.cache_dir_size, ScopeOf(options, place)),
        filesystem_(MakeRoot(context_, ControlFiles()), OptionsOfFilesystem(),
                    [this](std::string_view line) { context_.problems.Report(line); }) {
    context_.services.scan = {.max_bytes = options.max_scan, .threads = options.threads};
    context_.services.listed_views = options.views;
    context_.services.mount_point = options.mountpoint;
  }

  // Serves until the mount ends. `on_ready` is called when it answers. `device` is
  // as for Serve().
  model::Result<void> Run(std::function<void()> on_ready, backends::UniqueFd device) {
    filesystem_.set_on_ready(std::move(on_ready));
    filesystem_.set_on_first_open([this] { RaiseReadAhead(options_.mountpoint); });
    NDLFS_TRY(const auto session, Session::Mount({.source = options_.source,
                                                  .mountpoint = options_.mountpoint,
                                                  .allow_other = options_.allow_other,
                                                  .threads = options_.threads + kSpareThreads,
                                                  .device = std::move(device)},
                                                 filesystem_));
    return session->Run();
  }

 private:
  FilesystemOptions OptionsOfFilesystem() {
    return {.uid = options_.uid,
            .gid = options_.gid,
            .umask = options_.umask.value_or(0),
            .timeout = context_.services.freshness.TimeoutSeconds(),
            .immutable = options_.immutable,
            .inode32 = options_.inode32,
            .reads_at_once = options_.threads,
            .most_reads = [this] { return context_.cache.pace().UpdateWidth(); },
            .most_running = std::max({options_.fetches, options_.threads, kLeastWaiting}),
            .answer_within = AnswerWithin(options_),
            .shared = source_->is_shared(),
            .most_open = MostOpenFiles(),
            .most_open_bytes = std::max(options_.cache_size, kLeastOpenBytes),
            .source = backends::LocalRootOf(*source_)};
  }

  std::vector<ControlFile> ControlFiles() {
    const auto statistics = [this] {
      auto all = CollectStatistics(context_, filesystem_, mounted_);
      if (place_.block_cache) AddBlockStatistics(*place_.block_cache, all);
      return all;
    };
    const auto details = [this] {
      DetailedStatistics all = {
          CollectRequests(filesystem_), context_.cache.decode_times().totals(), {}};
      if (place_.statistics) all.servers = place_.statistics();
      return all;
    };
    return {
        {"stats.json",
         [=, this] {
           const auto now = SlowRequests::Clock::now();
           const auto slow = filesystem_.slow_requests().Find(now);
           return StatisticsAsJson(statistics(), details(), slow, now);
         }},
        {"metrics", [=] { return StatisticsAsMetrics(statistics(), details()); }},
        {"config.yaml", [this] { return OptionsAsYaml(options_); }},
        {"errors.log", [this] { return context_.problems.Text(); },
         options_.allow_other ? mode_t{0444} : mode_t{0440},
         /*grows=*/true},
    };
  }

  const MountOptions options_;
  const RemotePlace place_;
  const std::chrono::steady_clock::time_point mounted_ = std::chrono::steady_clock::now();
  const std::shared_ptr<const Source> source_;
  MountContext context_;
  Filesystem filesystem_;
};

model::Result<std::unique_ptr<Mount>> MakeMount(const MountOptions& options,
                                                const MountPaths& paths) {
  const SignalsBlocked blocked;
  NDLFS_TRY(const auto place, OpenPlace(options, paths));
  return std::make_unique<Mount>(options, place);
}

// In the process that was started in the background.
int ServeInBackground(const MountOptions& options, const MountPaths& paths, Starter& starter) {
  bool ready = false;
  auto result = StartLog(options.log_file, LogTarget::kSystemLog, options.log_level,
                         {options.source, options.mountpoint});
  if (result) {
    result = Serve(options, paths, [&] {
      ready = true;
      starter.Succeed();
    });
  }
  if (result) {
    if (!ready) starter.Fail("unmounted before it was ready");
    return ready ? 0 : 1;
  }
  if (ready) {
    LogWarning(result.error().message());
  } else {
    starter.Fail(result.error().message());
  }
  return 1;
}

// Whether the source tells of a name, be it only that it is forbidden; errno is set if not. The
// name is one that each look at the folder asks for.
bool AnswersForName(const std::string& directory) {
  struct ::stat status;
  return ::stat((directory + "/zarr.json").c_str(), &status) == 0 || errno == ENOENT ||
         errno == EACCES;
}

// The caller wants to use the mount next: see that it answers. A mount that does not is
// removed, because a command that fails leaves nothing behind.
model::Result<void> CheckAnswers(const MountOptions& options) {
  struct ::stat status;
  // The folder of a server always has attributes. A name in it does not.
  const bool is_there = ::stat(options.mountpoint.c_str(), &status) == 0 &&
                        (!IsUrl(options.source) || AnswersForName(options.mountpoint));
  if (is_there) return {};
  const int error = errno;
  (void)RemoveDeadMount(options.mountpoint);
  const std::string source = model::Quote(options.source);
  if (error == ETIMEDOUT) return BadInput("source {}: does not answer", source);
  return BadInput("source {}: cannot be read: {}", source, std::strerror(error));
}

}  // namespace

model::Result<void> Serve(const MountOptions& options, const MountPaths& paths,
                          const std::function<void()>& on_ready, backends::UniqueFd device) {
  // A limit on the size of files is an answer of write(), no reason to die.
  std::signal(SIGXFSZ, SIG_IGN);
  RaiseDescriptorLimit();
  // One file may refer to others beside it, where the mount point may be as well.
  if (!paths.file.empty() && IsInside(options.mountpoint, paths.directory)) {
    backends::StayOnOneFilesystem();
  }
  NDLFS_TRY(const auto mount, MakeMount(options, paths));
  auto result = mount->Run(
      [&] {
        LogInfo("mounted " + options.source + " on " + options.mountpoint);
        on_ready();
      },
      std::move(device));
  if (result) LogInfo("unmounted " + options.mountpoint);
  return result;
}

model::Result<MountOptions> ResolveOptions(const MountOptions& given, const MountPaths& paths) {
  MountOptions options = given;
  options.source = paths.source;
  options.mountpoint = paths.mountpoint;
  options.threads = ThreadsOf(given);
  // The background process works in "/".
  if (!given.log_file.empty()) {
    options.log_file = std::filesystem::absolute(given.log_file).lexically_normal();
  }
  options.cache_dir = std::filesystem::absolute(given.cache_dir).lexically_normal();
  std::error_code ignored;
  if (given.cache_dir != MountOptions().cache_dir &&
      !std::filesystem::is_directory(given.cache_dir, ignored)) {
    return BadInput("--cache-dir: {} is not a directory", model::Quote(given.cache_dir));
  }
  NDLFS_RETURN_IF_ERROR(CheckBlockCache(given.remote));
  return options;
}

model::Result<int> RunMount(const MountOptions& given) {
  NDLFS_TRY(const MountPaths paths, CheckMount(given));
  NDLFS_TRY(const MountOptions options, ResolveOptions(given, paths));
  if (options.foreground) {
    NDLFS_RETURN_IF_ERROR(StartLog(options.log_file, LogTarget::kStandardError,
                                   options.log_level, {options.source, options.mountpoint}));
    NDLFS_RETURN_IF_ERROR(Serve(options, paths, [&] {
      NotifyManager("READY=1\nSTATUS=" + options.source + " is mounted");
    }));
    return 0;
  }
  NDLFS_RETURN_IF_ERROR(RunInBackground(
      [&](Starter& starter) { return ServeInBackground(options, paths, starter); }));
  NDLFS_RETURN_IF_ERROR(CheckAnswers(options));
  return 0;
}

}  // namespace ndlfs::fs
