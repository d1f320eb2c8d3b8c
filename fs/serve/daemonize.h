// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>

#include "backends/base/unique_fd.h"
#include "model/error.h"

namespace ndlfs::fs {

// One end of a pipe. Through it a process in the background tells the process that started it
// whether it is ready.
class Starter {
 public:
  explicit Starter(backends::UniqueFd pipe) : pipe_(std::move(pipe)) {}

  enum class Errors { kLetGo, kKeep };
  // Tells that the process is ready. Leaves the terminal and the process group, but keeps
  // standard error if `errors` says so. Call it once; the process may have threads by now.
  void Succeed(Errors errors = Errors::kLetGo);
  // Tells that the process will never be ready, because of `reason`.
  void Fail(const std::string& reason);

 private:
  backends::UniqueFd pipe_;
};

// Waits at the other end, `fd`, for Succeed(), or for the reason of a failure.
model::Result<void> WaitUntilStarted(int fd);

// Runs `work` in a new process, which works in "/" and continues after this one ends. Until it
// calls Succeed(), it is in the process group of the caller and has its terminal. Returns when
// `work` has called Succeed(), or with the reason why it did not. Call it before any thread is
// started, because fork() copies only the thread that calls it. Never returns in the new
// process, which exits with the result of `work`.
model::Result<void> RunInBackground(const std::function<int(Starter&)>& work);

}  // namespace ndlfs::fs
