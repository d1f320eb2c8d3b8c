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
#include <filesystem>
#include <memory>
#include <thread>
#include <utility>

#include "backends/store/local/crossing.h"
#include "backends/store/local/local_source.h"
#include "fs/mount/daemonize.h"
#include "fs/mount/logging.h"
#include "fs/mount/operations.h"
#include "fs/mount/preflight.h"
#include "fs/mount/read_ahead.h"
#include "fs/mount/serve.h"
#include "fs/mount/service.h"
#include "fs/mount/session.h"
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

Freshness FreshnessOf(const MountOptions& options) {
  if (options.immutable) return Freshness(std::nullopt);
  const double seconds = std::clamp(options.revalidate_seconds, 0.0, kLongestRevalidation);
  return Freshness(
      std::chrono::duration_cast<Freshness::Duration>(std::chrono::duration<double>(seconds)));
}

// Beside those that read, where users would keep each other waiting. They answer
// what takes no time, or should not, and cost all readers some (each request
// wakes another thread): see tests/bench/RESULTS.md.
constexpr unsigned kSpareThreads = 8;

// Every mount has one for the scan that tells the size of a `data.jsonl`.
unsigned SpareThreads(const MountOptions& options) {
  return options.allow_other ? kSpareThreads : 1;
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

Scope ScopeOf(const MountOptions& options, const MountPaths& paths) {
  const bool is_named = !paths.file.empty();
  return {.file = paths.file,
          .detection = is_named ? backends::Detection::kContent : options.detection,
          .as = options.as};
}

// All of one mount, with the options as they are meant (paths resolved).
class Mount {
 public:
  Mount(const MountOptions& options, const Scope& scope, std::shared_ptr<const Source> source)
      : options_(options),
        source_(std::move(source)),
        context_(
            source_, options.cache_size,
            cache::LoadPace::Limits{.decoders = options.threads, .fetches = options.fetches},
            FreshnessOf(options),
            backends::OpenOptions{.max_chunk_size = options.max_chunk_size,
                                  .shared = options.allow_other,
                                  .search_holds = FreshnessOf(options).interval()},
            [](const backends::Hierarchy& hierarchy, std::string_view store_name,
               std::string_view path, const ReaderOf& reader_of, const auto& refused) {
              return WriteDocument(hierarchy, store_name, path, reader_of, nullptr, refused);
            },
            &LogWarning, options.cache_dir, options.cache_dir_size, scope),
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
    NDLFS_TRY(const auto session,
              Session::Mount({.source = options_.source,
                              .mountpoint = options_.mountpoint,
                              .allow_other = options_.allow_other,
                              .threads = options_.threads + SpareThreads(options_),
                              .device = std::move(device)},
                             filesystem_));
    auto result = session->Run();
    filesystem_.FinishReads();
    return result;
  }

 private:
  FilesystemOptions OptionsOfFilesystem() {
    return {.uid = options_.uid,
            .gid = options_.gid,
            .umask = options_.umask.value_or(0),
            .timeout = context_.services.freshness.TimeoutSeconds(),
            .immutable = options_.immutable,
            .reads_at_once = options_.threads,
            .most_reads = [this] { return context_.cache.pace().UpdateWidth(); },
            .shared = options_.allow_other,
            .source = backends::LocalRootOf(*source_)};
  }

  std::vector<ControlFile> ControlFiles() {
    const auto statistics = [this] {
      return CollectStatistics(context_, filesystem_, mounted_);
    };
    return {
        {"stats.json",
         [=, this] { return StatisticsAsJson(statistics(), CollectRequests(filesystem_)); }},
        {"metrics",
         [=, this] { return StatisticsAsMetrics(statistics(), CollectRequests(filesystem_)); }},
        {"config.yaml", [this] { return OptionsAsYaml(options_); }},
        {"errors.log", [this] { return context_.problems.Text(); },
         options_.allow_other ? mode_t{0444} : mode_t{0440},
         /*grows=*/true},
    };
  }

  const MountOptions options_;
  const std::chrono::steady_clock::time_point mounted_ = std::chrono::steady_clock::now();
  const std::shared_ptr<const Source> source_;
  MountContext context_;
  Filesystem filesystem_;
};

// A signal that asks us to end must find the thread that waits for the loop:
// threads that are started meanwhile have it blocked.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t signals;
    ::sigemptyset(&signals);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) ::sigaddset(&signals, signal);
    ::pthread_sigmask(SIG_BLOCK, &signals, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

std::unique_ptr<Mount> MakeMount(const MountOptions& options, const Scope& scope,
                                 std::shared_ptr<const Source> source) {
  const SignalsBlocked blocked;
  return std::make_unique<Mount>(options, scope, std::move(source));
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

// Whoever waits for us wants to use the mount: see that it answers.
model::Result<void> CheckAnswers(const std::string& mountpoint) {
  struct ::stat status;
  if (::stat(mountpoint.c_str(), &status) == 0) return {};
  return model::IoError(errno, "the mount " + mountpoint + " does not answer");
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
  NDLFS_TRY(auto source, backends::LocalSource::Open(paths.directory, options.allow_other),
            "source");
  const auto mount = MakeMount(options, ScopeOf(options, paths), std::move(source));
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
  NDLFS_RETURN_IF_ERROR(CheckAnswers(options.mountpoint));
  return 0;
}

}  // namespace ndlfs::fs
