// SPDX-License-Identifier: MIT
#include "backends/helper/spawn.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "backends/helper/message_socket.h"
#include "model/sanitizers.h"

namespace ndlfs::backends::helper {
namespace {

using model::Result;

std::vector<std::string> HelperEnvironment(std::span<const std::string_view> variables) {
  std::vector<std::string_view> names = {"LD_LIBRARY_PATH"};
  if (model::kIsSanitized) {
    names.insert(names.end(),
                 {"ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"});
  }
  names.insert(names.end(), variables.begin(), variables.end());
  std::vector<std::string> environment;
  for (const std::string_view name : names) {
    const char* value = std::getenv(std::string(name).c_str());
    if (value != nullptr) environment.push_back(std::string(name) + "=" + value);
  }
  return environment;
}

std::vector<char*> PointersTo(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// posix_spawn's attributes, which have to be destroyed.
struct SpawnPlan {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;

  explicit SpawnPlan(int socket) {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, socket, kHelperSocket);
    ::posix_spawnattr_init(&attributes);
    sigset_t none;
    ::sigemptyset(&none);
    sigset_t defaults;
    ::sigfillset(&defaults);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &defaults);
    // A terminal's interrupt is not meant for it.
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnPlan() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
};

}  // namespace

Result<SocketPair> MakeSocketPair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return model::IoError(errno, "socketpair");
  }
  SocketPair made{UniqueFd(ends[0]), UniqueFd(ends[1])};
  SetTick(made.ours.get());
  return made;
}

Result<int> SpawnHelper(const std::vector<std::string>& command, int socket,
                        std::span<const std::string_view> variables) {
  // It is elsewhere than where it goes, or dup2 would not let it survive exec.
  const UniqueFd copy(::fcntl(socket, F_DUPFD_CLOEXEC, kHelperSocket + 1));
  if (!copy) return model::IoError(errno, "dup");
  const SpawnPlan plan(copy.get());
  const std::vector<std::string> environment = HelperEnvironment(variables);
  pid_t pid;
  const int error = ::posix_spawn(&pid, command[0].c_str(), &plan.actions, &plan.attributes,
                                  PointersTo(command).data(), PointersTo(environment).data());
  if (error != 0) return model::IoError(error, command[0]);
  return pid;
}

void KillHelper(int pid) {
  ::kill(pid, SIGKILL);
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace ndlfs::backends::helper
