// SPDX-License-Identifier: MIT
//
// On a mount for others, the kernel decides what a user may read: every file is opened with the
// user and the groups of the process that asks for it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "model/error.h"

namespace ndlfs::backends {

// What the kernel judges a process by when it opens a file. Capabilities are not part of it:
// root of a user namespace is the user that it is outside. Immutable.
struct Caller {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;  // supplementary, sorted
  // No other identity in this process has it; never 0.
  uint64_t id = 0;
  // Has all that this process may do: this process itself, and root.
  bool is_self = false;
};
using CallerPtr = std::shared_ptr<const Caller>;

// One object, and one id, for each identity as long as anybody holds it. Thread-safe.
CallerPtr FindCaller(uid_t uid, gid_t gid, std::vector<gid_t> groups);

// This process itself, for what it needs in order to serve anybody at all.
const CallerPtr& SelfAsCaller();

// For whom the calling thread works. Costs no system call: the identity is taken when a file is
// opened (see TakenIdentity). A thread that works for another one's request makes a scope with
// that thread's Current().
class CallerScope {
 public:
  explicit CallerScope(CallerPtr caller);
  ~CallerScope();
  CallerScope(const CallerScope&) = delete;
  CallerScope& operator=(const CallerScope&) = delete;

  // Null outside of any scope.
  static const CallerPtr& Current();
  // 0 outside of any scope.
  static uint64_t CurrentId();

  // How often the kernel has refused this thread a file for want of permission. Who keeps what
  // was made of several files, some of which are optional, sees by it whether one of them was
  // refused.
  static uint64_t denials();
  static void CountDenial();

 private:
  CallerPtr outer_;
};

// As long as it exists, the kernel takes the calling thread, and no other, for `caller`.
// Nothing else should happen meanwhile: a thread or a process that is started would inherit the
// identity, and a file that is created would belong to the caller.
class TakenIdentity {
 public:
  // Fails where the kernel refuses; the thread is then what it was.
  static model::Result<TakenIdentity> Take(const Caller& caller);
  TakenIdentity(TakenIdentity&& other) noexcept;
  TakenIdentity& operator=(TakenIdentity&&) = delete;
  ~TakenIdentity();

 private:
  TakenIdentity() = default;
  bool taken_ = false;
};

// Whether this process may take the identity of others (CAP_SETUID and CAP_SETGID).
bool MayTakeIdentities();

}  // namespace ndlfs::backends
