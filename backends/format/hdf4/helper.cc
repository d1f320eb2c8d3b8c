// SPDX-License-Identifier: MIT
#include "backends/format/hdf4/helper.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "backends/format/hdf4/hdf4.h"
#include "backends/format/hdf4/messages.h"
#include "backends/helper/message_socket.h"
#include "backends/helper/spawn.h"
#include "backends/store/cancellation.h"
#include "model/mutex.h"

namespace ndlfs::backends {
namespace hdf4 {
namespace {

using model::Result;

constexpr std::chrono::seconds kPatience{60};
constexpr uint64_t kMostDescription = uint64_t{256} << 20;

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

// Versions of files with which libhdf4 came to no end: it is not asked again.
class Endless {
 public:
  static bool Has(const Generation& version) {
    Endless& all = All();
    const model::MutexLock lock(all.mutex_);
    return all.versions_.contains(version.ToText());
  }
  static void Add(const Generation& version) {
    constexpr size_t kMost = 1000;
    Endless& all = All();
    const model::MutexLock lock(all.mutex_);
    if (all.versions_.size() >= kMost) all.versions_.clear();
    all.versions_.insert(version.ToText());
  }

 private:
  static Endless& All() {
    static Endless all;
    return all;
  }
  model::Mutex mutex_;
  std::set<std::string> versions_ GUARDED_BY(mutex_);
};

model::Failure ComesToNoEnd() { return model::Corrupt("libhdf4 comes to no end with it"); }

// Why a process has ended without an answer.
model::Failure HasCrashed(int pid, const Generation& version) {
  constexpr auto kTimeToEnd = std::chrono::milliseconds(500);
  const auto until = std::chrono::steady_clock::now() + kTimeToEnd;
  int status = 0;
  for (;;) {
    const pid_t ended = ::waitpid(pid, &status, WNOHANG);
    if (ended == pid) break;
    const bool is_late = std::chrono::steady_clock::now() >= until;
    if ((ended < 0 && errno != EINTR) || is_late) {
      helper::KillHelper(pid);
      return model::Corrupt("libhdf4 crashes over it (its process broke the rules)");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    if (signal == SIGXCPU) {
      Endless::Add(version);
      return ComesToNoEnd();
    }
    // Others may send this one, as the system does when memory is short.
    if (signal == SIGKILL || signal == SIGTERM) {
      return model::IoError(
          EIO, fmt::format("the process of libhdf4 was killed by signal {}", signal));
    }
    return model::Corrupt("libhdf4 crashes over it (signal {})", signal);
  }
  return model::Corrupt("libhdf4 crashes over it (exit status {})", WEXITSTATUS(status));
}

// The bytes of an answer of at most `most` bytes.
Result<std::vector<std::byte>> AskProcess(const Skeleton& skeleton, const std::string& question,
                                          uint64_t most) {
  const auto command = CurrentCommand();
  if (command.empty()) return model::Unsupported("HDF4 is read by the program ndlfs only");
  if (Endless::Has(skeleton.info().generation)) return ComesToNoEnd();
  NDLFS_TRY(const UniqueFd file, skeleton.OpenToRead());
  NDLFS_TRY(auto sockets, helper::MakeSocketPair());
  const int descriptors[] = {sockets.theirs.get(), file.get()};
  NDLFS_TRY(const int pid, helper::SpawnHelper(command, descriptors));
  sockets.theirs = UniqueFd();  // or its end would not be seen
  const auto until = std::chrono::steady_clock::now() + kPatience;
  bool is_late = false;
  const auto go_on = [&] {
    is_late = std::chrono::steady_clock::now() >= until;
    return !is_late && CancellationScope::CheckWithinChunk().has_value();
  };
  const auto limit = [&](helper::MessageKind) { return most; };
  const int socket = sockets.ours.get();
  helper::Message answer;
  auto done =
      helper::SendMessage(socket, helper::MessageKind::kQuestion, AsBytes(question), go_on);
  if (done == helper::Exchange::kDone) {
    done = helper::ReceiveMessage(socket, answer, limit, go_on);
  }
  if (done == helper::Exchange::kClosed ||
      (done == helper::Exchange::kDone && answer.bytes.empty())) {
    return HasCrashed(pid, skeleton.info().generation);
  }
  helper::KillHelper(pid);
  if (done == helper::Exchange::kDone) return std::move(answer.bytes);
  NDLFS_RETURN_IF_ERROR(CancellationScope::CheckWithinChunk());
  return model::IoError(ETIMEDOUT, "the process of libhdf4 did nothing");
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
          "HDF4 needs a kernel with Landlock (Linux 5.13): without it, libhdf4 could not be "
          "kept from other files");
  }
  return model::Corrupt("libhdf4 crashes over it (its process broke the rules)");
}

}  // namespace

Result<FileInfo> AskForDescription(const Skeleton& skeleton) {
  NDLFS_TRY(const auto answer,
            AskProcess(skeleton, EncodeQuestion(std::nullopt), kMostDescription));
  NDLFS_TRY(const std::string_view payload, Payload(AsText(answer)));
  auto file = DecodeFileInfo(payload);
  if (!file) return model::Corrupt("libhdf4 crashes over it (its process broke the rules)");
  return *std::move(file);
}

Result<Bytes> AskForElements(const Skeleton& skeleton, const BlockRequest& block) {
  constexpr uint64_t kText = 4096;
  NDLFS_TRY(const auto answer,
            AskProcess(skeleton, EncodeQuestion(block), std::max(block.bytes + 1, kText)));
  NDLFS_TRY(const std::string_view payload, Payload(AsText(answer)));
  if (payload.size() != block.bytes) {
    return model::Corrupt("libhdf4 decodes {} bytes of {}", payload.size(), block.bytes);
  }
  return Bytes::Copy(AsBytes(payload));
}

}  // namespace hdf4

void UseHdf4Helper(std::vector<std::string> command) {
  auto& used = hdf4::TheCommand();
  const model::MutexLock lock(used.mutex);
  used.words = std::move(command);
}

}  // namespace ndlfs::backends
