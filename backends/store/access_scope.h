// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "backends/store/access.h"
#include "model/error.h"

namespace ndlfs::backends {

// What a thread reads while this is there, on a mount for others: who may read
// a file is asked of the file that was opened. The path that led to it may have
// led to another one when it was looked at before, and may again when it is
// looked at afterwards: links are bent in no time. One in another one hides it.
class AccessScope {
 public:
  // With `readers`, no file is read that is closed to one of them.
  explicit AccessScope(std::optional<Access> readers = std::nullopt);
  ~AccessScope();
  AccessScope(const AccessScope&) = delete;
  AccessScope& operator=(const AccessScope&) = delete;

  // Who may read all that was read; nullopt where that was nothing.
  const std::optional<PathAccess>& seen() const { return seen_; }

  // For stores: the calling thread is about to read a file that grants `access`.
  static model::Result<void> Note(const PathAccess& access);

 private:
  const std::optional<Access> readers_;
  std::optional<PathAccess> seen_;
  AccessScope* const outer_;
};

}  // namespace ndlfs::backends
