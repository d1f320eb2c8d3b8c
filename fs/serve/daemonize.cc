// SPDX-License-Identifier: MIT
#include "fs/serve/daemonize.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <utility>

namespace ndlfs::fs {
namespace {

using backends::UniqueFd;
using model::IoError;

constexpr char kReady = '+';
constexpr char kFailed = '-';

void WriteAll(int fd, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(fd, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;  // nobody listens any more
    done += static_cast<size_t>(count);
  }
}

// All that comes through the pipe until its other end is closed, or the first
// byte says that no more is needed.
std::string ReadMessage(int fd) {
  std::string message;
  char buffer[4096];
  for (;;) {
    const ssize_t count = ::read(fd, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return message;
    message.append(buffer, static_cast<size_t>(count));
    if (message.front() == kReady) return message;
  }
}

// Not earlier: where autofs waits for a mount, only processes of the group of systemd or of the
// automounter reach the mount point. The process leads a session now, so it must open nothing
// without O_NOCTTY that may be a terminal.
void LetGoOfTerminal(Starter::Errors errors) {
  ::setsid();
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return;
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO}) ::dup2(null.get(), fd);
  if (errors == Starter::Errors::kLetGo) ::dup2(null.get(), STDERR_FILENO);
}

[[noreturn]] void Work(UniqueFd pipe, const std::function<int(Starter&)>& work) {
  Starter starter(std::move(pipe));
  int status = 1;
  try {
    if (::chdir("/") != 0) throw std::runtime_error("chdir /");
    status = work(starter);
  } catch (const std::exception& exception) {
    starter.Fail(exception.what());
  }
  std::exit(status);
}

// The second fork: nobody has to wait for a process whose parent has ended, and one that leads
// no group can leave it.
[[noreturn]] void Detach(UniqueFd pipe, const std::function<int(Starter&)>& work) {
  const pid_t pid = ::fork();
  if (pid == 0) Work(std::move(pipe), work);
  if (pid < 0) Starter(std::move(pipe)).Fail(IoError(errno, "fork").value().message());
  ::_exit(pid < 0 ? 1 : 0);
}

}  // namespace

void Starter::Succeed(Errors errors) {
  if (!pipe_) return;
  LetGoOfTerminal(errors);
  WriteAll(pipe_.get(), {kReady});
  pipe_ = UniqueFd();
}

void Starter::Fail(const std::string& reason) {
  if (pipe_) WriteAll(pipe_.get(), kFailed + reason);
  pipe_ = UniqueFd();
}

model::Result<void> RunInBackground(const std::function<int(Starter&)>& work) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return IoError(errno, "pipe");
  UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  std::fflush(nullptr);  // or what is buffered would be written twice
  const pid_t pid = ::fork();
  if (pid < 0) return IoError(errno, "fork");
  if (pid == 0) {
    read_end = UniqueFd();
    Detach(std::move(write_end), work);
  }
  write_end = UniqueFd();
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return WaitUntilStarted(read_end.get());
}

model::Result<void> WaitUntilStarted(int fd) {
  const std::string message = ReadMessage(fd);
  if (!message.empty() && message.front() == kReady) return {};
  if (message.size() > 1) {
    return model::Failure(model::Error(model::ErrorCode::kBadInput, message.substr(1)));
  }
  return model::Internal("the process in the background ended without a word");
}

}  // namespace ndlfs::fs
