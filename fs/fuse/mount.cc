// SPDX-License-Identifier: MIT
#include "fs/fuse/mount.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <memory>
#include <utility>

#include "backends/base/unique_fd.h"
#include "backends/store/local/source_root.h"
#include "fs/fuse/fuse.h"
#include "fs/fuse/operations.h"
#include "fs/fuse/preflight.h"
#include "fs/fuse/read_ahead.h"
#include "fs/fuse/serve.h"
#include "fs/fuse/session.h"
#include "fs/serve/daemonize.h"
#include "fs/serve/logging.h"
#include "fs/serve/served_tree.h"
#include "fs/serve/service.h"
#include "fs/serve/signals_blocked.h"

namespace ndlfs::fs {
namespace {

using model::BadInput;

// Threads in addition to those that read. Such a thread answers requests that take no time, or
// should take none. More of them would slow down all readers, because each request then wakes
// another thread: see tests/bench/RESULTS.md.
constexpr unsigned kSpareThreads = 1;

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

// The kernel may end the mount before `options` give a request up.
std::chrono::milliseconds AnswerBeforeKernel(const MountOptions& options) {
  const std::chrono::milliseconds within = AnswerWithin(options);
  const unsigned most = SecondsOfKernel();
  if (most == 0) return within;
  // Some time for the request to get here, and for the answer to get back.
  const std::chrono::milliseconds sooner(most * 800);
  if (within.count() != 0 && within <= sooner) return within;
  LogInfo(fmt::format("requests fail after {} s, because the kernel ends mounts after {} s",
                      most * 0.8, most));
  return sooner;
}

constexpr uint64_t kLeastOpenBytes = uint64_t{64} << 20;

// All of one mount, with the options as they are meant (paths resolved).
class Mount {
 public:
  explicit Mount(std::unique_ptr<ServedTree> tree)
      : tree_(std::move(tree)),
        options_(tree_->options()),
        filesystem_(tree_->MakeRoot({[this] { return filesystem_.CountsNow(); },
                                     [this]() -> const SlowRequests& {
                                       return filesystem_.slow_requests();
                                     }}),
                    OptionsOfFilesystem(),
                    [this](std::string_view line) { tree_->context().problems.Report(line); }) {
  }

  // Serves until the mount ends. `on_ready` is called when it answers. `device` is
  // as for Session.
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
            .timeout = tree_->context().services.freshness.TimeoutSeconds(),
            .immutable = options_.immutable,
            .inode32 = options_.inode32,
            .queue = tree_->QueueOptions(),
            .most_open = MostOpenFiles(),
            .most_open_bytes = std::max(options_.cache_size, kLeastOpenBytes),
            .source = backends::LocalRootOf(tree_->source())};
  }

  const std::unique_ptr<ServedTree> tree_;
  const MountOptions& options_;
  Filesystem filesystem_;
};

model::Result<std::unique_ptr<Mount>> MakeMount(const MountOptions& options,
                                                const MountPaths& paths) {
  const SignalsBlocked blocked;
  NDLFS_TRY(auto tree, ServedTree::Open(options, paths, AnswerBeforeKernel(options)));
  return std::make_unique<Mount>(std::move(tree));
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
                          const std::function<void()>& on_ready) {
  backends::UniqueFd device(paths.device);
  // A limit on the size of files is an answer of write(), no reason to die.
  std::signal(SIGXFSZ, SIG_IGN);
  RaiseDescriptorLimit();
  // One file may refer to others in its folder, and the mount point may be there as well.
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
  NDLFS_TRY(MountOptions options, ResolveServedOptions(given, paths));
  options.mountpoint = paths.mountpoint;
  return options;
}

std::string FuseLibrary() { return fmt::format("libfuse {}", fuse_pkgversion()); }

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
  if (paths.device < 0) NDLFS_RETURN_IF_ERROR(CheckAnswers(options));
  return 0;
}

}  // namespace ndlfs::fs
