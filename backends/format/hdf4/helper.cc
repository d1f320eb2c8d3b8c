// SPDX-License-Identifier: MIT
#include "backends/format/hdf4/helper.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "backends/base/new_id.h"
#include "backends/format/hdf4/hdf4.h"
#include "backends/format/hdf4/messages.h"
#include "backends/helper/message_socket.h"
#include "backends/helper/spawn.h"
#include "backends/store/caller.h"
#include "backends/store/cancellation.h"
#include "model/mutex.h"
#include "model/sanitizers.h"

namespace ndlfs::backends {
namespace hdf4 {
namespace {

using model::Result;

// Memory of a process without elements: the program and its libraries take half of it.
constexpr uint64_t kMemory = uint64_t{768} << 20;
constexpr uint64_t kMostDescription = uint64_t{128} << 20;

struct Command {
  model::Mutex mutex;
  std::vector<std::string> words GUARDED_BY(mutex);
};
Command& TheCommand() {
  static Command command;
  return command;
}

std::vector<std::string> CurrentCommand() {
  Command& command = TheCommand();
  const model::MutexLock lock(command.mutex);
  return command.words;
}

// Versions of files with which libhdf4 came to no end: it is not asked again. Files of other
// places may have the same version, and what a file did to one caller says nothing to others.
class Endless {
 public:
  static bool Has(const Skeleton& file) {
    Endless& all = All();
    const model::MutexLock lock(all.mutex_);
    return all.versions_.contains(KeyOf(file));
  }
  static void Add(const Skeleton& file) {
    constexpr size_t kMost = 1000;
    Endless& all = All();
    const model::MutexLock lock(all.mutex_);
    if (all.versions_.size() >= kMost) all.versions_.clear();
    all.versions_.insert(KeyOf(file));
  }

 private:
  using Key = std::tuple<uint64_t, std::string, std::string>;
  static Key KeyOf(const Skeleton& file) {
    return {CallerScope::CurrentId(), file.info().generation.ToText(), file.name()};
  }
  static Endless& All() {
    static Endless all;
    return all;
  }
  model::Mutex mutex_;
  std::set<Key> versions_ GUARDED_BY(mutex_);
};

model::Failure ComesToNoEnd() { return model::Corrupt("libhdf4 comes to no end with it"); }

// Processor time that an answer may take, and how long one waits for it by the clock.
constexpr rlim_t kProcessorSeconds = 4;
constexpr std::chrono::seconds kPatience{60};

double ProcessorTimeOf(int pid) {
  clockid_t clock;
  timespec used = {};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return 0;
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

// For the next question.
void Limit(int pid, uint64_t memory) {
  const auto used = static_cast<rlim_t>(ProcessorTimeOf(pid));
  const rlimit time{used + kProcessorSeconds, RLIM_INFINITY};
  ::prlimit(pid, RLIMIT_CPU, &time, nullptr);
  // Sanitizers need their address space.
  if (model::kIsSanitized) return;
  const rlimit space{memory, RLIM_INFINITY};
  ::prlimit(pid, RLIMIT_AS, &space, nullptr);
}

// The status of a process that has ended, or is about to; nullopt if it goes on.
std::optional<int> StatusOfEnd(int pid) {
  constexpr auto kTimeToEnd = std::chrono::milliseconds(500);
  const auto until = std::chrono::steady_clock::now() + kTimeToEnd;
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(pid, &status, WNOHANG);
    if (ended == pid) return status;
    const bool is_late = std::chrono::steady_clock::now() >= until;
    if ((ended < 0 && errno != EINTR) || is_late) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

model::Failure BreaksTheRules() {
  return model::Corrupt("libhdf4 crashes over it (its process broke the rules)");
}

// What follows the first byte of the answer.
Result<std::string_view> Payload(std::string_view answer) {
  const std::string_view rest = answer.substr(1);
  switch (static_cast<Answer>(answer.front())) {
    case Answer::kDone:
      return rest;
    case Answer::kRefused:
      return model::Corrupt("{}", model::OneLine(rest));
    case Answer::kNoLibrary:
      return model::Unsupported(
          "HDF4 needs the library libhdf4, which is not installed (Debian: libhdf4-0-alt)");
    case Answer::kNoSandbox:
      return model::Unsupported(
          "HDF4 needs a kernel with Landlock (Linux 5.13) and seccomp, and a build with "
          "libseccomp: without them, libhdf4 could not be kept from other files and programs");
  }
  return BreaksTheRules();
}

}  // namespace

Result<Process> Process::Start(const Skeleton& skeleton) {
  const auto command = CurrentCommand();
  if (command.empty()) return model::Unsupported("HDF4 is read by the program ndlfs only");
  NDLFS_TRY(const UniqueFd file, skeleton.OpenToRead());
  NDLFS_TRY(auto sockets, helper::MakeSocketPair());
  const int descriptors[] = {sockets.theirs.get(), file.get()};
  NDLFS_TRY(const int pid, helper::SpawnHelper(command, descriptors));
  return Process(pid, std::move(sockets.ours));
}

Process& Process::operator=(Process&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(socket_, other.socket_);
  return *this;
}

Process::~Process() { Stop(); }

void Process::Stop() {
  if (pid_ >= 0) helper::KillHelper(std::exchange(pid_, -1));
}

Result<std::vector<std::byte>> Process::Ask(const std::string& question, const Limits& limits,
                                            const Skeleton& skeleton) {
  if (Endless::Has(skeleton)) return ComesToNoEnd();
  Limit(pid_, limits.memory);
  const double used_before = ProcessorTimeOf(pid_);
  const auto until = std::chrono::steady_clock::now() + kPatience;
  const auto go_on = [&] {
    return std::chrono::steady_clock::now() < until &&
           CancellationScope::CheckWithinChunk().has_value();
  };
  const auto limit = [&](helper::MessageKind) { return limits.bytes; };
  const int socket = socket_.get();
  helper::Message answer;
  auto done =
      helper::SendMessage(socket, helper::MessageKind::kQuestion, AsBytes(question), go_on);
  if (done == helper::Exchange::kDone) {
    done = helper::ReceiveMessage(socket, answer, limit, go_on);
  }
  if (done == helper::Exchange::kDone && !answer.bytes.empty()) return std::move(answer.bytes);
  if (done != helper::Exchange::kGivenUp) return HasCrashed(skeleton);
  // On a busy machine it may be given up before its own limit ends it.
  constexpr double kMuch = kProcessorSeconds / 2;
  if (ProcessorTimeOf(pid_) - used_before > kMuch) Endless::Add(skeleton);
  Stop();
  NDLFS_RETURN_IF_ERROR(CancellationScope::CheckWithinChunk());
  return model::IoError(ETIMEDOUT, "the process of libhdf4 did nothing");
}

// It has ended without an answer.
model::Failure Process::HasCrashed(const Skeleton& skeleton) {
  const auto status = StatusOfEnd(pid_);
  if (!status) {
    Stop();
    return BreaksTheRules();
  }
  pid_ = -1;
  if (!WIFSIGNALED(*status)) {
    return model::Corrupt("libhdf4 crashes over it (exit status {})", WEXITSTATUS(*status));
  }
  const int signal = WTERMSIG(*status);
  if (signal == SIGXCPU) {
    Endless::Add(skeleton);
    return ComesToNoEnd();
  }
  // Others may send these, as the system does when memory is short.
  if (signal == SIGKILL || signal == SIGTERM) {
    return model::IoError(EIO, fmt::format("the process of libhdf4 was killed by signal {}; "
                                           "the next look tries again",
                                           signal));
  }
  return model::Corrupt("libhdf4 crashes over it (signal {})", signal);
}

Result<FileInfo> AskForDescription(const Skeleton& skeleton) {
  NDLFS_TRY(Process process, Process::Start(skeleton));
  NDLFS_TRY(const auto answer,
            process.Ask(EncodeQuestion({std::nullopt, skeleton.leaves_headers()}),
                        {kMostDescription, kMemory}, skeleton));
  NDLFS_TRY(const std::string_view payload, Payload(AsText(answer)));
  auto file = DecodeFileInfo(payload);
  if (!file) return BreaksTheRules();
  return *std::move(file);
}

namespace {

// The process that waits for the next question, of one asker and one caller: a process that a
// file has taken over could tell one caller what it has read for another.
class WaitingProcess {
 public:
  static std::optional<Process> Take(uint64_t asker) {
    WaitingProcess& waiting = The();
    const model::MutexLock lock(waiting.mutex_);
    const bool is_own = waiting.asker_ == asker && waiting.caller_ == CallerScope::CurrentId();
    return is_own ? std::exchange(waiting.process_, std::nullopt) : std::nullopt;
  }
  static void Put(uint64_t asker, Process process) {
    WaitingProcess& waiting = The();
    std::optional<Process> replaced(std::move(process));
    const model::MutexLock lock(waiting.mutex_);
    waiting.process_.swap(replaced);
    waiting.asker_ = asker;
    waiting.caller_ = CallerScope::CurrentId();
  }
  static void Drop(uint64_t asker) {
    WaitingProcess& waiting = The();
    const model::MutexLock lock(waiting.mutex_);
    if (waiting.asker_ == asker) waiting.process_.reset();
  }

 private:
  static WaitingProcess& The() {
    static WaitingProcess waiting;
    return waiting;
  }
  model::Mutex mutex_;
  std::optional<Process> process_ GUARDED_BY(mutex_);
  uint64_t asker_ GUARDED_BY(mutex_) = 0;
  uint64_t caller_ GUARDED_BY(mutex_) = 0;
};

}  // namespace

ElementAsker::ElementAsker() : id_(NewId()) {}
ElementAsker::~ElementAsker() { WaitingProcess::Drop(id_); }

Result<Bytes> ElementAsker::Ask(const Skeleton& skeleton, const BlockRequest& block) {
  constexpr uint64_t kText = 4096;
  const std::string question = EncodeQuestion({block, false});
  for (;;) {
    std::optional<Process> process = WaitingProcess::Take(id_);
    const bool is_new = !process;
    if (is_new) {
      NDLFS_TRY(process, Process::Start(skeleton));
    }
    auto answer = process->Ask(
        question, {std::max(block.bytes + 1, kText), kMemory + 4 * block.bytes}, skeleton);
    if (!answer) {
      // Another block may have harmed it.
      const bool may_retry = !is_new && answer.error().code() == model::ErrorCode::kCorrupt;
      if (may_retry) continue;
      return model::Propagate(std::move(answer).error());
    }
    WaitingProcess::Put(id_, *std::move(process));
    NDLFS_TRY(const std::string_view payload, Payload(AsText(*answer)));
    if (payload.size() != block.bytes) {
      return model::Corrupt("libhdf4 decodes {} bytes of {}", payload.size(), block.bytes);
    }
    return Bytes::Copy(AsBytes(payload));
  }
}

}  // namespace hdf4

void UseHdf4Helper(std::vector<std::string> command) {
  auto& used = hdf4::TheCommand();
  const model::MutexLock lock(used.mutex);
  used.words = std::move(command);
}

}  // namespace ndlfs::backends
