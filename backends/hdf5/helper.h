// SPDX-License-Identifier: MIT
//
// libhdf5 in a process of its own: files have been made that crash it, or let
// it run forever, and that process is then started anew. One for each root.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/hdf5/library.h"
#include "backends/hdf5/messages.h"
#include "backends/store/source_root.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::backends::hdf5 {

// The process that answers for one root, as its clients see it. It is started
// when it is needed, and ends with this object. Thread-safe; one question at a
// time.
class Helper {
 public:
  // How long an answer may take: longer than anything sensible does, also on
  // a slow network filesystem, and in time that the processor works on it.
  struct Patience {
    std::chrono::milliseconds wall{120'000};
    std::chrono::milliseconds cpu{20'000};
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

  model::Result<void> Start() REQUIRES(mutex_);
  void Stop() REQUIRES(mutex_);
  bool IsGivenUp(const std::string& file_path) REQUIRES(mutex_);
  void GiveUp(const std::string& file_path) REQUIRES(mutex_);
  Outcome TryAsk(ConstByteSpan question, std::vector<std::byte>& answer) REQUIRES(mutex_);

  const std::vector<std::string> command_;
  const std::shared_ptr<const SourceRoot> root_;
  const Patience patience_;
  model::Mutex mutex_;
  int pid_ GUARDED_BY(mutex_) = -1;
  UniqueFd socket_ GUARDED_BY(mutex_);
  // Versions of files that the library came to no end with.
  std::map<std::string, FileStamp> given_up_ GUARDED_BY(mutex_);
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
