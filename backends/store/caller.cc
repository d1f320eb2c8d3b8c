// SPDX-License-Identifier: MIT
#include "backends/store/caller.h"

#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <tuple>
#include <utility>

#include "backends/base/capabilities.h"
#include "model/mutex.h"

namespace ndlfs::backends {
namespace {

using Identity = std::tuple<uid_t, gid_t, std::vector<gid_t>>;

constexpr uint64_t kMostUnswept = uint64_t{4} << 20;

// All identities that anybody holds. Ordered, because an identity is long and has no hash: this
// is no WeakMap.
struct Callers {
  model::Mutex mutex;
  std::map<Identity, std::weak_ptr<const Caller>> known GUARDED_BY(mutex);
  size_t sweep_at GUARDED_BY(mutex) = 256;
  uint64_t unswept_bytes GUARDED_BY(mutex) = 0;  // of groups that came since the last sweep
  uint64_t last_id GUARDED_BY(mutex) = 0;
};

Callers& AllCallers() {
  static Callers callers;
  return callers;
}

thread_local CallerPtr current_caller;
thread_local uint64_t denial_count = 0;

#ifdef SYS_setgroups32
constexpr long kSetGroups = SYS_setgroups32;
#else
constexpr long kSetGroups = SYS_setgroups;
#endif

// Changes the calling thread alone; the function of the C library changes all threads.
int SetGroupsOfThread(const std::vector<gid_t>& groups) {
  return static_cast<int>(::syscall(kSetGroups, groups.size(), groups.data()));
}

// The identity of this process.
struct Self {
  uid_t uid = ::geteuid();
  gid_t gid = ::getegid();
  std::vector<gid_t> groups = [] {
    std::vector<gid_t> groups(static_cast<size_t>(std::max(::getgroups(0, nullptr), 0)));
    const int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
    groups.resize(static_cast<size_t>(std::max(count, 0)));
    return groups;
  }();
};

// As it was before a thread took any identity.
const Self& OwnIdentity() {
  static const Self self;
  return self;
}

// setfsuid() and setfsgid() report no failure: an impossible identity asks for the present one.
bool SetUser(uid_t uid) {
  ::setfsuid(uid);
  return static_cast<uid_t>(::setfsuid(static_cast<uid_t>(-1))) == uid;
}
bool SetGroup(gid_t gid) {
  ::setfsgid(gid);
  return static_cast<gid_t>(::setfsgid(static_cast<gid_t>(-1))) == gid;
}

// The user last, because that takes away the right to read any file, and first on the way back.
// A thread that cannot become itself again must not go on.
void BecomeSelf() {
  const Self& self = OwnIdentity();
  const bool done =
      SetUser(self.uid) && SetGroup(self.gid) && SetGroupsOfThread(self.groups) == 0;
  if (!done) std::abort();
}

}  // namespace

CallerPtr FindCaller(uid_t uid, gid_t gid, std::vector<gid_t> groups) {
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  if (uid == OwnIdentity().uid || uid == 0) return SelfAsCaller();
  Callers& callers = AllCallers();
  const model::MutexLock lock(callers.mutex);
  std::weak_ptr<const Caller>& known = callers.known[Identity(uid, gid, groups)];
  if (auto caller = known.lock()) return caller;
  auto caller = std::make_shared<const Caller>(
      Caller{uid, gid, std::move(groups), ++callers.last_id, /*is_self=*/false});
  known = caller;
  // A caller may have 65,536 groups: so few of those that are gone stay.
  callers.unswept_bytes += caller->groups.size() * sizeof(gid_t);
  if (callers.known.size() >= callers.sweep_at || callers.unswept_bytes > kMostUnswept) {
    std::erase_if(callers.known, [](const auto& item) { return item.second.expired(); });
    callers.sweep_at = std::max<size_t>(256, 2 * callers.known.size());
    callers.unswept_bytes = 0;
  }
  return caller;
}

const CallerPtr& SelfAsCaller() {
  static const CallerPtr self = [] {
    const Self& own = OwnIdentity();
    Callers& callers = AllCallers();
    const model::MutexLock lock(callers.mutex);
    return std::make_shared<const Caller>(
        Caller{own.uid, own.gid, own.groups, ++callers.last_id, /*is_self=*/true});
  }();
  return self;
}

CallerScope::CallerScope(CallerPtr caller) : outer_(std::move(caller)) {
  outer_.swap(current_caller);
}

CallerScope::~CallerScope() { outer_.swap(current_caller); }

const CallerPtr& CallerScope::Current() { return current_caller; }

uint64_t CallerScope::CurrentId() { return current_caller ? current_caller->id : 0; }

uint64_t CallerScope::denials() { return denial_count; }

void CallerScope::CountDenial() { ++denial_count; }

model::Result<TakenIdentity> TakenIdentity::Take(const Caller& caller) {
  TakenIdentity identity;
  if (caller.is_self) return identity;
  (void)OwnIdentity();  // known before it changes
  if (SetGroupsOfThread(caller.groups) != 0) return model::IoError(errno, "setgroups");
  identity.taken_ = true;  // to be undone from here on
  if (!SetGroup(caller.gid)) return model::IoError(EPERM, "setfsgid");
  if (!SetUser(caller.uid)) return model::IoError(EPERM, "setfsuid");
  return identity;
}

TakenIdentity::TakenIdentity(TakenIdentity&& other) noexcept
    : taken_(std::exchange(other.taken_, false)) {}

TakenIdentity::~TakenIdentity() {
  const int error = errno;  // of what was done meanwhile
  if (taken_) BecomeSelf();
  errno = error;
}

// The kernel takes the right to read any file away from a thread that becomes
// another user, but only if it was uid 0.
bool MayTakeIdentities() {
  return HasCapabilities(kTakeIdentities) &&
         (::geteuid() == 0 || !HasCapabilities(kReadAnyFile));
}

}  // namespace ndlfs::backends
