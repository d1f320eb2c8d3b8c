// SPDX-License-Identifier: MIT
#include "fs/fuse/caller_state.h"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <string>

#include "model/number_text.h"

namespace ndlfs::fs {
namespace {

constexpr uint64_t Bit(int signal) { return uint64_t{1} << (signal - 1); }

// Signals that do not end a program that has no handler for them.
constexpr uint64_t kHarmless = Bit(SIGCHLD) | Bit(SIGURG) | Bit(SIGWINCH) | Bit(SIGCONT) |
                               Bit(SIGSTOP) | Bit(SIGTSTP) | Bit(SIGTTIN) | Bit(SIGTTOU);
constexpr uint64_t kRequests = Bit(SIGINT) | Bit(SIGTERM) | Bit(SIGHUP) | Bit(SIGQUIT);

// The value of a line such as "SigPnd:\t0000000000000100"; empty if there is none.
std::string_view ValueOf(std::string_view status, std::string_view name) {
  size_t at = status.starts_with(name) ? 0 : status.find("\n" + std::string(name));
  if (at == std::string_view::npos) return {};
  at = status.find('\t', at);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = status.substr(at + 1);
  return rest.substr(0, rest.find('\n'));
}

uint64_t SignalsOf(std::string_view status, std::string_view name) {
  std::string_view value = ValueOf(status, name);
  return model::TakeNumber<uint64_t>(value, 16).value_or(0);
}

}  // namespace

CallerState ParseCallerState(std::string_view status) {
  const std::string_view state = ValueOf(status, "State:");
  if (state.starts_with('Z') || state.starts_with('X')) return CallerState::kEnds;
  const uint64_t pending = (SignalsOf(status, "SigPnd:") | SignalsOf(status, "ShdPnd:")) &
                           ~SignalsOf(status, "SigBlk:") & ~SignalsOf(status, "SigIgn:");
  const uint64_t handled = SignalsOf(status, "SigCgt:");
  // The kernel tells each thread of a process that is ended by another signal so by SIGKILL.
  if ((pending & ~handled & ~kHarmless) != 0) return CallerState::kEnds;
  return (pending & handled & kRequests) != 0 ? CallerState::kIsAsked : CallerState::kWaits;
}

// getline() turns a failure of read() into a state of the stream. Iterators of the buffer
// throw.
std::string ReadProcessFile(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  std::getline(file, text, '\0');
  return text;
}

CallerState LookAtCaller(pid_t tid) {
  if (tid <= 0) return CallerState::kWaits;
  // /proc may be hidden, but this always tells.
  if (::kill(tid, 0) != 0 && errno == ESRCH) return CallerState::kEnds;
  const std::string status = ReadProcessFile("/proc/" + std::to_string(tid) + "/status");
  return status.empty() ? CallerState::kWaits : ParseCallerState(status);
}

}  // namespace ndlfs::fs
