// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>

#include "backends/base/unique_fd.h"
#include "model/error.h"

namespace ndlfs::fs {

// The end of the pipe on which a process in the background tells the one that
// started it how it went.
class Starter {
 public:
  explicit Starter(backends::UniqueFd pipe) : pipe_(std::move(pipe)) {}

  enum class Errors { kLetGo, kKeep };
  // Ready: lets go of the terminal, but keeps standard error if `errors` says so, then of the
  // starter. Once only; the process may be threaded by now.
  void Succeed(Errors errors = Errors::kLetGo);
  // Not ready, and never will be, because of `reason`.
  void Fail(const std::string& reason);

 private:
  backends::UniqueFd pipe_;
};

// Waits at the other end, `fd`, for Succeed(), or for the reason of a failure.
model::Result<void> WaitUntilStarted(int fd);

// Runs `work` in a process of its own, without a terminal and in "/", which
// outlives this one. Returns when that has called Succeed(), or with the
// reason why it has not. Call it before any thread is started: a fork takes
// only the thread that calls it along. In the new process it never returns:
// that exits with what `work` returns.
model::Result<void> RunInBackground(const std::function<int(Starter&)>& work);

}  // namespace ndlfs::fs
