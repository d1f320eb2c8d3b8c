// SPDX-License-Identifier: MIT
//
// libhdf5 in processes of its own: files have been made that crash it, or let
// it run forever, and such a process is then started anew.
#pragma once

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/format/hdf5/library/library.h"
#include "backends/format/hdf5/messages.h"
#include "backends/store/local/source_root.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::backends::hdf5 {

// The processes that answer for one root, as their clients see them. They are
// started when they are needed, and end with this object. Usually there is one
// at work; others are there so that a file that takes forever keeps nobody
// waiting but who asked for it. Thread-safe.
class Helper {
 public:
  // How long an answer may take: longer than anything sensible does, also on
  // a slow network filesystem, and in time that the processor works on it.
  struct Patience {
    std::chrono::milliseconds wall{120'000};
    std::chrono::milliseconds cpu{10'000};
  };

  // `command` is as for UseHdf5Helper().
  Helper(std::vector<std::string> command, std::shared_ptr<const SourceRoot> root);
  Helper(std::vector<std::string> command, std::shared_ptr<const SourceRoot> root,
         Patience patience);
  ~Helper();

  // The bytes of the answer. A helper that dies over a question is asked once
  // more, as it may have died of something earlier; the second time it is
  // kCorrupt, and so is an answer that takes too long. After that, nothing is
  // asked about the file until it changes.
  model::Result<std::vector<std::byte>> Ask(const Request& request);

 private:
  enum class Outcome { kAnswered, kDied, kTooLong };

  // A process, if it has been started, for who has taken it.
  struct Process {
    int pid = -1;
    UniqueFd socket;
    std::string last_file;      // which it may still have open
    uint64_t memory_limit = 0;  // bytes of address space; 0: not set yet
    bool taken = false;
  };
  static constexpr size_t kMaxProcesses = 4;

  // Waits until one is free; the one that knows `file_path` if it may be.
  Process& Take(const std::string& file_path) EXCLUDES(mutex_);
  Process* FindFree(const std::string& file_path) REQUIRES(mutex_);
  void GiveBack(Process& process) EXCLUDES(mutex_);

  model::Result<std::vector<std::byte>> AskProcess(Process& process, const Request& request)
      EXCLUDES(mutex_);
  model::Result<void> Start(Process& process);
  static void Stop(Process& process);
  // Which it cannot raise itself: it has no system call for that.
  static void LimitMemory(Process& process, uint64_t bytes);
  Outcome TryAsk(Process& process, ConstByteSpan question, size_t limit,
                 std::vector<std::byte>& answer) const;

  bool IsGivenUp(const std::string& file_path) EXCLUDES(mutex_);
  void GiveUp(const std::string& file_path) EXCLUDES(mutex_);

  const std::vector<std::string> command_;
  const std::shared_ptr<const SourceRoot> root_;
  const Patience patience_;
  model::Mutex mutex_;
  model::CondVar given_back_;
  // `taken` is guarded by the mutex, the rest is who has taken it.
  std::array<Process, kMaxProcesses> processes_;
  // Versions of files that the library came to no end with.
  std::map<std::string, Generation> given_up_ GUARDED_BY(mutex_);
};

// A file that is asked for through a helper.
model::Result<std::shared_ptr<const File>> OpenFileByHelper(std::shared_ptr<Helper> helper,
                                                            const std::string& path);

// The helper of `root`, if UseHdf5Helper() was called; otherwise null.
std::shared_ptr<Helper> HelperOf(std::shared_ptr<const SourceRoot> root);

// Answers the questions that come from `socket`, of files beneath `root`, until
// it is closed.
void AnswerQuestions(int socket, std::shared_ptr<const SourceRoot> root);

}  // namespace ndlfs::backends::hdf5
