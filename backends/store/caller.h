// SPDX-License-Identifier: MIT
//
// On a mount for other users, the kernel decides what a user may read: every file is opened
// with the user and the groups of the process that asks for it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "model/error.h"

namespace ndlfs::backends {

// The identity of a process, by which the kernel decides whether it may open a file.
// Capabilities are not part of it: root of a user namespace counts as the user that it is
// outside. Immutable.
struct Caller {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;  // supplementary, sorted
  // A number that no other identity has in this process; never 0.
  uint64_t id = 0;
  // Whether the caller has all rights of this process, as this process itself
  // and root do.
  bool is_self = false;
};
using CallerPtr = std::shared_ptr<const Caller>;

// The caller with this identity: the same object, with the same id, while anybody holds it.
// Thread-safe.
CallerPtr FindCaller(uid_t uid, gid_t gid, std::vector<gid_t> groups);

// This process itself, for files that it needs in order to serve callers at
// all.
const CallerPtr& SelfAsCaller();

// Sets the caller that the calling thread works for. Costs no system call: the thread takes the
// identity of the caller when it opens a file (see TakenIdentity). A thread that helps another
// one makes a scope with the Current() of that thread.
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

  // How often this thread was refused a file for lack of permission (EACCES). Code that reads
  // several files, some of them optional, compares this number before and after, to see whether
  // one of them was refused.
  static uint64_t denials();
  static void CountDenial();

 private:
  CallerPtr outer_;
};

// While this object exists, the kernel treats the calling thread, and no other, as `caller`.
// The thread should do nothing else meanwhile: a thread or a process that it starts would
// inherit the identity, and a file that it creates would belong to the caller. The destructor
// gives the identity back; if it cannot, it ends the process.
class TakenIdentity {
 public:
  // Fails if the kernel refuses; the thread then has its own identity.
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
