// SPDX-License-Identifier: MIT
#include "fs/fuse/mount_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <string_view>
#include <utility>

#include "model/number_text.h"

namespace ndlfs::fs {
namespace {

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

}  // namespace

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

}  // namespace ndlfs::fs
