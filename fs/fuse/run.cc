// SPDX-License-Identifier: MIT
#include "fs/fuse/run.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "backends/base/capabilities.h"
#include "backends/base/unique_fd.h"
#include "fs/fuse/preflight.h"
#include "fs/fuse/read_ahead.h"
#include "fs/fuse/serve.h"
#include "fs/serve/daemonize.h"
#include "fs/serve/logging.h"
#include "fs/serve/mount_info.h"
#include "model/error.h"

namespace ndlfs::fs {
namespace {

using backends::UniqueFd;
using model::BadInput;
using model::IoError;
using model::Result;

// Mounts that only one process and its descendants see.

// The namespaces in which this process may mount without showing the mount to others.
struct Namespaces {
  // The process has got its capabilities by becoming the owner of a user namespace; it had none
  // before.
  bool user = false;
  // Mounts do not show in other namespaces. False in a chroot directory that is not a mount
  // point.
  bool is_private = true;
};

using Status = model::Result<void>;

Status WriteProc(const char* path, const std::string& text) {
  const UniqueFd file(::open(path, O_WRONLY | O_CLOEXEC));
  if (!file) return BadInput("{}: {}", path, std::strerror(errno));
  if (::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) {
    return {};
  }
  return BadInput("{}: {}", path, std::strerror(errno));
}

// The number in a file of /proc/sys, or -1.
int Setting(const char* path) {
  int value = -1;
  return std::ifstream(path) >> value ? value : -1;
}

// The reason why user namespaces are forbidden. The kernel uses the same few error numbers for
// many reasons; its settings tell more.
std::string WhyNoNamespaces(int error) {
  if (Setting("/proc/sys/kernel/unprivileged_userns_clone") == 0) {
    return "the setting kernel.unprivileged_userns_clone is 0";
  }
  if (Setting("/proc/sys/user/max_user_namespaces") == 0) {
    return "the setting user.max_user_namespaces is 0";
  }
  if (Setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1) {
    return "the setting kernel.apparmor_restrict_unprivileged_userns is 1";
  }
  if (error == EPERM) return "forbidden in a chroot directory and by rules of containers";
  return std::strerror(error);
}

// The user keeps its number, so that files show their owners and commands see the
// user that they expect.
Status MapUser(uid_t user, gid_t group) {
  NDLFS_RETURN_IF_ERROR(WriteProc("/proc/self/setgroups", "deny"), "user namespace");
  NDLFS_RETURN_IF_ERROR(WriteProc("/proc/self/uid_map", fmt::format("{0} {0} 1", user)),
                        "user namespace");
  NDLFS_RETURN_IF_ERROR(WriteProc("/proc/self/gid_map", fmt::format("{0} {0} 1", group)),
                        "user namespace");
  return {};
}

// Gives this process a mount namespace of its own, and a user namespace if it needs one for
// that. The process must have one thread only. The user and the group stay as they are. The
// error says what forbids it.
model::Result<Namespaces> EnterNamespaces() {
  Namespaces entered;
  if (::unshare(CLONE_NEWNS) != 0) {
    const uid_t user = ::geteuid();
    const gid_t group = ::getegid();
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
      return BadInput("the kernel gives no user namespace ({}); `ndlfs mount` does without one",
                      WhyNoNamespaces(errno));
    }
    NDLFS_RETURN_IF_ERROR(MapUser(user, group));
    entered.user = true;
  }
  // Mounts that others make still appear here.
  entered.is_private = ::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0;
  return entered;
}

// A device for one mount. Opened in the namespace that is to have the mount.
model::Result<UniqueFd> OpenFuseDevice() {
  UniqueFd device(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
  if (device) return device;
  return BadInput("{}", WhyNoDevice(errno));
}

// Mounts at the directory `mountpoint`, for the process that reads requests from
// `device`. `source` is the name in /proc/mounts.
Status MountDevice(const UniqueFd& device, const std::string& source,
                   const std::string& mountpoint, bool allow_other) {
  const std::string data =
      fmt::format("fd={},rootmode=40000,user_id={},group_id={},default_permissions{}",
                  device.get(), ::geteuid(), ::getegid(), allow_other ? ",allow_other" : "");
  if (::mount(source.c_str(), mountpoint.c_str(), kFilesystemType,
              MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOATIME, data.c_str()) == 0) {
    return {};
  }
  const int error = errno;
  std::string_view hint;
  if (error == EPERM || error == EACCES) hint = " (ordinary users need Linux 4.18 or newer)";
  if (error == ENODEV) hint = " (this system has no FUSE; load it with: modprobe fuse)";
  return BadInput("cannot mount in a namespace: {}{}", std::strerror(error), hint);
}

// The statuses of shells.
constexpr int kCannotRun = 126;
constexpr int kNoSuchProgram = 127;
constexpr int kSignalled = 128;

// How long the end of the mount is waited for; programs that the command left in
// the background may still use it.
constexpr auto kCommandEndTimeout = std::chrono::seconds(1);
constexpr auto kEndInterval = std::chrono::milliseconds(5);

// A new directory that only this user may enter.
Result<std::string> MakeMountPoint() {
  const char* chosen = std::getenv("TMPDIR");
  int error = 0;
  for (const char* base : {chosen, "/tmp", "/var/tmp", "/dev/shm"}) {
    if (base == nullptr || base[0] != '/') continue;
    std::string path = std::string(base) + "/ndlfs-run-XXXXXX";
    if (::mkdtemp(path.data()) != nullptr) return path;
    if (error == 0) error = errno;
  }
  return BadInput("cannot make a mount point in $TMPDIR, /tmp, /var/tmp or /dev/shm: {}",
                  std::strerror(error));
}

struct Pipe {
  UniqueFd reading;
  UniqueFd writing;
};
Result<Pipe> MakePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return IoError(errno, "pipe");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// One run, from the mount point to the status of the command.
class Run {
 public:
  Run(MountOptions options, MountPaths paths, std::vector<std::string> command)
      : options_(std::move(options)), paths_(std::move(paths)), command_(std::move(command)) {}

  Result<int> Execute() {
    NDLFS_TRY(namespaces_, EnterNamespaces());
    if (!namespaces_.is_private && IsInside(options_.mountpoint, paths_.directory)) {
      return BadInput("source {}: the mount point {} would be inside", options_.source,
                      options_.mountpoint);
    }
    NDLFS_TRY(auto device, OpenFuseDevice());
    NDLFS_TRY(auto mounted, MakePipe());
    NDLFS_TRY(auto started, MakePipe());
    std::fflush(nullptr);
    server_ = ::fork();
    if (server_ < 0) return IoError(errno, "fork");
    if (server_ == 0) {
      mounted.writing = UniqueFd();
      started.reading = UniqueFd();
      ServeAndExit(std::move(device), mounted.reading.get(),
                   Starter(std::move(started.writing)));
    }
    // The server stays behind without the mount: where the source is around the mount
    // point, it would wait for itself.
    if (::unshare(CLONE_NEWNS) != 0) return IoError(errno, "mount namespace");
    NDLFS_RETURN_IF_ERROR(
        MountDevice(device, options_.source, options_.mountpoint, options_.allow_other));
    device = UniqueFd();  // the mount ends when the server has no more of it
    if (::write(mounted.writing.get(), "+", 1) != 1) return IoError(errno, "pipe");
    started.writing = UniqueFd();
    NDLFS_RETURN_IF_ERROR(WaitUntilStarted(started.reading.get()));
    RaiseReadAhead(options_.mountpoint);
    const auto status = RunCommand();
    EndMount();
    return status;
  }

 private:
  [[noreturn]] void ServeAndExit(UniqueFd device, int mounted, Starter starter) {
    ::setsid();  // signals of the terminal are for the command
    auto result = Result<void>();
    char byte = 0;
    ssize_t count = 0;
    while ((count = ::read(mounted, &byte, 1)) < 0 && errno == EINTR) {
    }
    if (count != 1) ::_exit(1);  // it was not mounted
    if (namespaces_.user) result = backends::DropCapabilities(0, 0);
    bool is_ready = false;
    if (result) {
      result = StartLog(options_.log_file, LogTarget::kStandardError, options_.log_level);
    }
    if (result) {
      paths_.device = device.release();
      result = Serve(options_, paths_, [&] {
        is_ready = true;
        starter.Succeed(Starter::Errors::kKeep);
      });
    }
    if (!result) {
      if (is_ready) LogWarning(result.error().message());
      starter.Fail(result.error().message());
    }
    ::rmdir(options_.mountpoint.c_str());
    std::exit(result ? 0 : 1);
  }

  Result<int> RunCommand();
  [[noreturn]] void BecomeCommand();
  void EndMount();

  const MountOptions options_;
  MountPaths paths_;
  std::vector<std::string> command_;
  Namespaces namespaces_;
  pid_t server_ = -1;
};

// The command, which gets the signals that ask us to end.
volatile std::sig_atomic_t running_command = 0;

void PassOn(int signal) {
  if (running_command > 0) ::kill(static_cast<pid_t>(running_command), signal);
}

// The terminal sends these signals to the command itself.
constexpr std::array kTerminalSignals = {SIGINT, SIGQUIT};
constexpr std::array kPassedSignals = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

std::string Replaced(std::string word, const std::string& mountpoint) {
  for (size_t at = 0; (at = word.find("{}", at)) != std::string::npos;) {
    word.replace(at, 2, mountpoint);
    at += mountpoint.size();
  }
  return word;
}

void Run::BecomeCommand() {
  for (const int signal : kTerminalSignals) std::signal(signal, SIG_DFL);
  for (const int signal : kPassedSignals) std::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::setenv("NDLFS_MOUNTPOINT", options_.mountpoint.c_str(), 1);
  std::vector<char*> words;
  for (std::string& word : command_) {
    word = Replaced(std::move(word), options_.mountpoint);
  }
  for (std::string& word : command_) words.push_back(word.data());
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  // A directory of $PATH that may not be entered hides that there is no program.
  const bool is_missing =
      errno == EACCES && std::strchr(words[0], '/') == nullptr && !IsInPath(words[0]);
  const int error = is_missing ? ENOENT : errno;
  fmt::print(stderr, "ndlfs: {}: {}\n", model::OneLine(command_[0]),
             error == ENOENT ? "there is no such program" : std::strerror(error));
  std::fflush(stderr);
  ::_exit(error == ENOENT ? kNoSuchProgram : kCannotRun);
}

Result<int> Run::RunCommand() {
  // A signal that comes before the command is known waits.
  sigset_t passed;
  sigset_t before;
  ::sigemptyset(&passed);
  for (const int signal : kPassedSignals) ::sigaddset(&passed, signal);
  ::sigprocmask(SIG_BLOCK, &passed, &before);
  for (const int signal : kPassedSignals) std::signal(signal, &PassOn);
  for (const int signal : kTerminalSignals) std::signal(signal, SIG_IGN);
  const pid_t command = ::fork();
  if (command < 0) return IoError(errno, "fork");
  if (command == 0) BecomeCommand();
  running_command = command;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  int status = 0;
  while (::waitpid(command, &status, 0) < 0 && errno == EINTR) {
  }
  running_command = 0;
  return WIFSIGNALED(status) ? kSignalled + WTERMSIG(status) : WEXITSTATUS(status);
}

// Leaves the namespace of the mount, so that the kernel ends the mount when no other
// program is in it.
void Run::EndMount() {
  if (namespaces_.is_private) ::unshare(CLONE_NEWNS);
  ::umount2(options_.mountpoint.c_str(), MNT_DETACH);  // our copy of it
  const auto end = std::chrono::steady_clock::now() + kCommandEndTimeout;
  while (::waitpid(server_, nullptr, WNOHANG) == 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(kEndInterval);
  }
}

}  // namespace

Result<int> RunInMount(const MountOptions& given, std::vector<std::string> command) {
  NDLFS_TRY(SourcePaths source, CheckSource(given));
  MountPaths paths{std::move(source), {}};
  NDLFS_TRY(MountOptions options, ResolveOptions(given, paths));
  NDLFS_TRY(paths.mountpoint, MakeMountPoint());
  options.mountpoint = paths.mountpoint;
  auto status = Run(options, paths, std::move(command)).Execute();
  // The server has removed it, if there was one.
  if (!status) ::rmdir(options.mountpoint.c_str());
  return status;
}

}  // namespace ndlfs::fs
