// SPDX-License-Identifier: MIT
#include "fs/fuse/caller_state.h"

#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "model/number_text.h"

namespace ndlfs::fs {
namespace {

using backends::CallerPtr;

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

using Groups = std::vector<gid_t>;

// A process that gives up a group keeps it here for as long at most. Long enough for `ls -l` to
// ask once, and too short for all process numbers to come round.
constexpr auto kKeep = std::chrono::milliseconds(100);
constexpr uint64_t kLeastBytes = 256;  // that a caller takes in memory

std::vector<uint64_t> Numbers(const std::string& text) {
  std::istringstream in(text);
  std::vector<uint64_t> numbers;
  for (uint64_t number = 0; in >> number;) numbers.push_back(number);
  return numbers;
}

// nullopt where that thread is not seen, or is not `uid`: what the kernel told is the user that
// it acts as, and the groups are those that it has itself.
std::optional<Groups> GroupsOfThread(pid_t pid, uid_t uid) {
  if (pid <= 0) return std::nullopt;
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  bool is_user = false;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Uid:")) {
      const auto users = Numbers(line.substr(4));
      is_user = std::find(users.begin(), users.end(), uid) != users.end();
    } else if (line.starts_with("Groups:")) {
      if (!is_user) return std::nullopt;
      const auto groups = Numbers(line.substr(7));
      return Groups(groups.begin(), groups.end());
    }
  }
  return std::nullopt;
}

// Those that the user would have after logging in; none of a user that the system does not
// know.
Groups GroupsOfUser(uid_t uid) {
  std::array<char, 16384> buffer;
  passwd user;
  passwd* found = nullptr;
  if (::getpwuid_r(uid, &user, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    return {};
  }
  Groups groups(64);
  int count = static_cast<int>(groups.size());
  if (::getgrouplist(user.pw_name, user.pw_gid, groups.data(), &count) < 0) {
    groups.resize(static_cast<size_t>(std::max(count, 0)));
    if (::getgrouplist(user.pw_name, user.pw_gid, groups.data(), &count) < 0) return {};
  }
  groups.resize(static_cast<size_t>(count));
  return groups;
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

CallerPtr CallerFinder::Find(uid_t uid, gid_t gid, pid_t pid) {
  if (uid == 0) return backends::SelfAsCaller();
  const auto now = std::chrono::steady_clock::now();
  const uint64_t key = uint64_t{static_cast<uint32_t>(pid)} << 32 | uid;
  {
    const model::MutexLock lock(mutex_);
    const Known* found = known_.Find(key);
    if (found != nullptr && found->gid == gid && now - found->found_at < kKeep) {
      return found->caller;
    }
  }
  auto groups = GroupsOfThread(pid, uid);
  CallerPtr caller = backends::FindCaller(uid, gid, groups ? *groups : GroupsOfUser(uid));
  const model::MutexLock lock(mutex_);
  known_.Put(key, {gid, caller, now}, kLeastBytes + caller->groups.size() * sizeof(gid_t));
  return caller;
}

}  // namespace ndlfs::fs
