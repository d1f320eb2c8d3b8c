// SPDX-License-Identifier: MIT
#include "backends/store/object/credential_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "backends/base/unique_fd.h"

extern char** environ;

namespace ndlfs::backends::object {
namespace {

constexpr size_t kLargestOutput = 64 << 10;

struct Process {
  pid_t pid = -1;
  UniqueFd output;
};

// The environment of this process with these variables in place of those of the same names.
std::vector<char*> EnvironmentWith(const std::vector<std::string>& variables) {
  std::vector<char*> all;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view text = *each;
    const std::string_view name = text.substr(0, text.find('='));
    const bool is_replaced = std::ranges::any_of(variables, [&](std::string_view variable) {
      return variable.substr(0, variable.find('=')) == name;
    });
    if (!is_replaced) all.push_back(*each);
  }
  for (const std::string& variable : variables) {
    all.push_back(const_cast<char*>(variable.c_str()));
  }
  all.push_back(nullptr);
  return all;
}

model::Result<Process> Start(const std::vector<std::string>& words,
                             const std::vector<std::string>& variables) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return model::IoError(errno, "pipe");
  UniqueFd reading(ends[0]);
  const UniqueFd writing(ends[1]);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, writing.get(), STDOUT_FILENO);
  pid_t pid = -1;
  const auto environment = EnvironmentWith(variables);
  const int error = ::posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(),
                                   environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return model::IoError(error, model::OneLine(words[0]));
  return Process{pid, std::move(reading)};
}

model::Result<std::string> ReadToEnd(int fd, std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return model::IoError(ETIMEDOUT, "it does not end");
    pollfd waits = {fd, POLLIN, 0};
    const int ready = ::poll(&waits, 1, static_cast<int>(left.count()));
    if (ready <= 0) continue;
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count == 0) return text;
    if (count < 0 && errno != EINTR) return model::IoError(errno, "read");
    if (count < 0) continue;
    text.append(buffer.data(), static_cast<size_t>(count));
    if (text.size() > kLargestOutput) return model::Limit("it writes more than 64 KiB");
  }
}

// Ends the process if it is still there; returns its status.
int Reap(pid_t pid, bool kills) {
  if (kills) ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

std::optional<std::vector<std::string>> SplitCommand(std::string_view command) {
  std::vector<std::string> words;
  bool is_in_word = false;
  char quote = 0;
  for (size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (quote == 0 && (c == ' ' || c == '\t')) {
      is_in_word = false;
      continue;
    }
    if (!is_in_word) words.emplace_back();
    is_in_word = true;
    if (c == quote && quote != 0) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == '\\' && quote != '\'' && i + 1 < command.size()) {
      words.back() += command[++i];
    } else {
      words.back() += c;
    }
  }
  if (quote != 0) return std::nullopt;
  return words;
}

model::Result<std::string> RunCredentialProcess(std::string_view command,
                                                const ProcessOptions& options) {
  const auto words = SplitCommand(command);
  if (!words || words->empty()) return model::BadInput("{}: no command", options.name);
  NDLFS_TRY(const Process process, Start(*words, options.variables), options.name);
  auto text = ReadToEnd(process.output.get(), options.patience);
  const int status = Reap(process.pid, !text);
  if (!text) return model::Propagate(std::move(text).error(), options.name);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return model::BadInput("{}: it has failed", options.name);
  }
  return text;
}

}  // namespace ndlfs::backends::object
