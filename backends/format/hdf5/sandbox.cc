// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/sandbox.h"

#include <linux/landlock.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#if NDLFS_WITH_SECCOMP
#include <fcntl.h>
#include <seccomp.h>
#endif

#include <cerrno>
#include <cstdint>
#include <memory>

#include "backends/base/capabilities.h"
#include "model/sanitizers.h"

namespace ndlfs::backends::hdf5 {
namespace {

void SetLimit(int resource, rlim_t value) {
  const rlimit limit{value, value};
  ::setrlimit(static_cast<__rlimit_resource>(resource), &limit);
}

// Files outside of the directory can be named, but no longer opened.
void ConfineTo(int root_fd) {
  const uint64_t reading = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
  landlock_ruleset_attr ruleset = {};
  // All that the first version of Landlock knows.
  ruleset.handled_access_fs = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
  const long rules = ::syscall(SYS_landlock_create_ruleset, &ruleset, sizeof(ruleset), 0);
  if (rules < 0) return;  // an older kernel
  landlock_path_beneath_attr beneath = {};
  beneath.allowed_access = reading;
  beneath.parent_fd = root_fd;
  const int fd = static_cast<int>(rules);
  if (::syscall(SYS_landlock_add_rule, fd, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0) == 0) {
    ::syscall(SYS_landlock_restrict_self, fd, 0);
  }
  ::close(fd);
}

#if NDLFS_WITH_SECCOMP
// All that libhdf5 and the driver need of the kernel, once files can be opened
// by openat2 only, which Landlock confines.
constexpr int kCalls[] = {
    // Questions and answers. Without sendmsg no descriptor can be passed on.
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    SCMP_SYS(recvfrom),
    SCMP_SYS(sendto),
    // Files.
    SCMP_SYS(openat2),
    SCMP_SYS(fstat),
    SCMP_SYS(read),
    SCMP_SYS(pread64),
    SCMP_SYS(lseek),
    SCMP_SYS(close),
    // Memory; mmap and mprotect are below.
    SCMP_SYS(brk),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(madvise),
    // qsort looks how much there is.
    SCMP_SYS(sysinfo),
    SCMP_SYS(futex),
    SCMP_SYS(getrandom),
    // Time, where the vDSO does not know it. The library sleeps between attempts
    // to read what a writer is about to change.
    SCMP_SYS(clock_gettime),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(time),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(nanosleep),
    SCMP_SYS(sched_yield),
    SCMP_SYS(restart_syscall),
    // To end, or to abort with a message.
    SCMP_SYS(write),
    SCMP_SYS(writev),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(getpid),
    SCMP_SYS(gettid),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
};

using Filter = std::unique_ptr<void, decltype(&::seccomp_release)>;

bool AddRules(scmp_filter_ctx filter) {
  for (const int call : kCalls) {
    if (::seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0) != 0) return false;
  }
  const auto no_code = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
  const auto of_descriptor = SCMP_A3(SCMP_CMP_MASKED_EQ, AT_EMPTY_PATH, AT_EMPTY_PATH);
  const auto itself = SCMP_A0(SCMP_CMP_EQ, static_cast<scmp_datum_t>(::getpid()), 0);
  const auto allow = [&](int call, const scmp_arg_cmp& condition) {
    return ::seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call, 1, &condition) == 0;
  };
  return allow(SCMP_SYS(mmap), no_code) && allow(SCMP_SYS(mprotect), no_code) &&
         allow(SCMP_SYS(newfstatat), of_descriptor) &&  // which is how fstat is called
         allow(SCMP_SYS(tgkill), itself);
}

// What is not allowed looks as if the kernel did not have it. Then a C library
// that prefers a newer call falls back on the one that it knows, which it would
// not after EPERM; and nothing that worked yesterday is killed because of an
// update. Who has taken the process over gains nothing by staying alive.
void ForbidOtherCalls() {
  const Filter filter(::seccomp_init(SCMP_ACT_ERRNO(ENOSYS)), &::seccomp_release);
  if (filter != nullptr && AddRules(filter.get())) ::seccomp_load(filter.get());
}
#else
void ForbidOtherCalls() {}
#endif

}  // namespace

bool RefusesSystemCalls() { return NDLFS_WITH_SECCOMP && !model::kIsSanitized; }

void EnterSandbox(int root_fd) {
  SetLimit(RLIMIT_CORE, 0);
  // Where it cannot give them up, it has what its parent had.
  (void)DropCapabilities(kReadAnyFile, kReadAnyFile).has_value();
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ConfineTo(root_fd);
  if (RefusesSystemCalls()) ForbidOtherCalls();
}

}  // namespace ndlfs::backends::hdf5
