// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/base/unique_fd.h"
#include "fs/fuse/mount.h"
#include "fs/serve/mount_info.h"
#include "model/number_text.h"

namespace ndlfs::fs {
namespace {

using model::BadInput;
using model::Quote;

// The process that serves a mount of ndlfs. Move-only.
class MountProcess {
 public:
  // Asks the mount of ndlfs at `mountpoint` for its process. nullopt if it does
  // not answer this user within two seconds.
  static std::optional<MountProcess> Find(const std::string& mountpoint);

  pid_t pid() const { return pid_; }
  // False if it still runs after `timeout`.
  bool WaitForEnd(std::chrono::milliseconds timeout) const;

 private:
  MountProcess(pid_t pid, backends::UniqueFd fd) : pid_(pid), fd_(std::move(fd)) {}
  pid_t pid_;
  backends::UniqueFd fd_;  // of the process: another one may get the same pid_
};

constexpr int kAnswerMilliseconds = 2000;
constexpr std::string_view kPidKey = "pid: ";

// The process number in the control file of the mount; 0 if there is none.
pid_t ReadPid(const std::string& mountpoint) {
  std::ifstream config(mountpoint + "/.ndlfs/config.yaml");
  pid_t pid = 0;
  for (std::string line; std::getline(config, line);) {
    if (!line.starts_with(kPidKey)) continue;
    pid = model::ParseNumber<pid_t>(std::string_view(line).substr(kPidKey.size())).value_or(0);
  }
  return pid;
}

// The same, by a process that can be killed if the mount hangs: a file that
// this one had open there would keep it from being unmounted.
pid_t AskForPid(const std::string& mountpoint) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return 0;
  const backends::UniqueFd reading(ends[0]);
  backends::UniqueFd writing(ends[1]);
  const pid_t asker = ::fork();
  if (asker == 0) {
    const pid_t pid = ReadPid(mountpoint);
    const bool written = ::write(writing.get(), &pid, sizeof(pid)) == sizeof(pid);
    ::_exit(written ? 0 : 1);
  }
  if (asker < 0) return 0;
  writing = backends::UniqueFd();  // so that reading ends when the asker does
  pid_t pid = 0;
  pollfd answer = {.fd = reading.get(), .events = POLLIN, .revents = 0};
  if (::poll(&answer, 1, kAnswerMilliseconds) <= 0 ||
      ::read(reading.get(), &pid, sizeof(pid)) != sizeof(pid)) {
    pid = 0;
    ::kill(asker, SIGKILL);
  }
  while (::waitpid(asker, nullptr, 0) < 0 && errno == EINTR) {
  }
  return pid;
}

// Whether `pid` is what the mount thinks: it may live in another namespace.
bool IsNdlfs(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  return std::getline(file, name) && name.find("ndlfs") != std::string::npos;
}

std::optional<MountProcess> MountProcess::Find(const std::string& mountpoint) {
  const pid_t pid = AskForPid(mountpoint);
  if (pid <= 0) return std::nullopt;
  backends::UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!fd || !IsNdlfs(pid)) return std::nullopt;
  return MountProcess(pid, std::move(fd));
}

bool MountProcess::WaitForEnd(std::chrono::milliseconds timeout) const {
  const auto end = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd process = {.fd = fd_.get(), .events = POLLIN, .revents = 0};
    const int ready = ::poll(&process, 1, static_cast<int>(std::max<int64_t>(left.count(), 0)));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

// Like realpath(), but does not ask the mount itself, whose process may be gone: resolves only
// the directory around it.
std::string ResolveParent(const std::string& path) {
  std::string trimmed = path;
  while (trimmed.size() > 1 && trimmed.ends_with('/')) trimmed.pop_back();
  const size_t slash = trimmed.rfind('/');
  const std::string parent = slash == std::string::npos ? "."
                             : slash == 0               ? "/"
                                                        : trimmed.substr(0, slash);
  const std::string name = trimmed.substr(slash + 1);  // npos + 1 is 0
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(parent.c_str(), nullptr),
                                                         &std::free);
  if (!real) return trimmed;
  const std::string resolved = real.get();
  return resolved == "/" ? "/" + name : resolved + "/" + name;
}

std::optional<MountEntry> FindMount(const std::vector<MountEntry>& mounts,
                                    const std::string& path) {
  std::optional<MountEntry> found;
  for (const MountEntry& entry : mounts) {
    if (entry.mountpoint == path) found = entry;  // the latest one is on top
  }
  return found;
}

// Another way to say where the mount is: a symbolic link, "." and "..".
std::string ResolveLink(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  return real ? real.get() : path;
}

constexpr std::chrono::seconds kDaemonEndTimeout(60);

std::string WhyNot(const std::string& mountpoint, std::string_view reason) {
  const auto says = [&](std::string_view words) { return reason.find(words) != reason.npos; };
  if (says("busy")) reason = "busy: a program has a file open there, or works there";
  // fusermount3 looks for mounts of the one who runs it.
  if (says("not found in /etc/mtab"))
    reason = "only root and the user who mounted it may do that";
  return fmt::format("cannot unmount {}: {}", Quote(mountpoint), reason);
}

// All that can be read from `fd`, without the line ends.
std::string ReadLines(int fd) {
  std::string text;
  std::array<char, 512> buffer;
  for (ssize_t count; (count = ::read(fd, buffer.data(), buffer.size())) != 0;) {
    if (count < 0 && errno != EINTR) break;
    if (count > 0) text.append(buffer.data(), static_cast<size_t>(count));
  }
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

// Runs `words` with standard error in a pipe; returns what it says there, or
// nothing if it ends well.
model::Result<std::string> RunQuietly(std::vector<std::string> words) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return model::IoError(errno, "pipe");
  const backends::UniqueFd reading(ends[0]);
  backends::UniqueFd writing(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, writing.get(), STDERR_FILENO);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t pid = 0;
  const int error =
      ::posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return model::IoError(error, words[0]);
  writing = backends::UniqueFd();
  const std::string said = ReadLines(reading.get());
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
  return said.empty() ? words[0] + " failed" : said;
}

// Ordinary users may unmount what is theirs through this program only.
model::Result<void> RunFusermount(const std::string& mountpoint, bool lazy) {
  std::vector<std::string> words = {"fusermount3", "-u", "--", mountpoint};
  if (lazy) words.insert(words.begin() + 1, "-z");
  NDLFS_TRY(const std::string problem, RunQuietly(std::move(words)));
  if (problem.empty()) return {};
  return BadInput("{}", WhyNot(mountpoint, problem));
}

model::Result<void> Unmount(const std::string& mountpoint, bool lazy = false) {
  if (::geteuid() != 0) return RunFusermount(mountpoint, lazy);
  const int flags = UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0);
  if (::umount2(mountpoint.c_str(), flags) == 0) return {};
  return BadInput("{}", WhyNot(mountpoint, std::strerror(errno)));
}

// Where nobody says what is mounted, the kernel tells whether there is a mount;
// of what type it is, and when its process has ended, remains unknown.
model::Result<void> UnmountUnseen(const std::string& path) {
  const std::string mountpoint = ResolveParent(path);
  auto unmounted = Unmount(mountpoint);
  if (unmounted) return {};
  const std::string other = ResolveLink(path);
  if (other != mountpoint && Unmount(other)) return {};
  return BadInput("{} (/proc/self/mountinfo cannot be read, which would say what is mounted)",
                  unmounted.error().message());
}

model::Result<MountEntry> FindOurMount(const std::vector<MountEntry>& mounts,
                                       const std::string& path) {
  auto mount = FindMount(mounts, ResolveParent(path));
  if (!mount) mount = FindMount(mounts, ResolveLink(path));
  if (!mount) return BadInput("{}: nothing is mounted there", Quote(path));
  if (mount->type != kFilesystemType) {
    return BadInput("{}: not a mount of ndlfs, but of type {}", Quote(path), mount->type);
  }
  return *std::move(mount);
}

}  // namespace

model::Result<void> RemoveDeadMount(const std::string& path) {
  NDLFS_TRY(const MountEntry mount, FindOurMount(CurrentMounts(), path));
  return Unmount(mount.mountpoint, /*lazy=*/true);
}

model::Result<void> RunUnmount(const std::string& path) {
  const std::vector<MountEntry> mounts = CurrentMounts();
  if (mounts.empty()) return UnmountUnseen(path);
  NDLFS_TRY(const MountEntry mount, FindOurMount(mounts, path));
  const auto process = MountProcess::Find(mount.mountpoint);
  NDLFS_RETURN_IF_ERROR(Unmount(mount.mountpoint));
  if (!process || process->WaitForEnd(kDaemonEndTimeout)) return {};
  return model::Internal("{} is unmounted, but process {} has not ended after {} seconds",
                         Quote(mount.mountpoint), process->pid(), kDaemonEndTimeout.count());
}

}  // namespace ndlfs::fs
