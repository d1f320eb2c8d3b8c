// SPDX-License-Identifier: MIT
#include "backends/helper/sandbox.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#if NDLFS_WITH_SECCOMP
#include <seccomp.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>

#include "backends/base/capabilities.h"
#include "backends/helper/spawn.h"
#include "model/sanitizers.h"

namespace ndlfs::backends::helper {
namespace {

void SetLimit(int resource, rlim_t value) {
  const rlimit limit{value, value};
  ::setrlimit(static_cast<__rlimit_resource>(resource), &limit);
}

// The rights to files that the versions of Landlock know, by the last of their bits.
uint64_t AllFileAccess() {
  const long version =
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version <= 0) return 0;
  constexpr int kRefer = 13;
  constexpr int kTruncate = 14;
  constexpr int kIoctlOfDevices = 15;
  const int last = version >= 5   ? kIoctlOfDevices
                   : version >= 3 ? kTruncate
                   : version == 2 ? kRefer
                                  : kRefer - 1;
  return (uint64_t{2} << last) - 1;
}

// What cannot be opened, or is not a folder or a file, stays forbidden.
void AllowToRead(int rules, const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!fd) return;
  landlock_path_beneath_attr rule = {};
  rule.parent_fd = fd.get();
  constexpr auto kOfFiles = LANDLOCK_ACCESS_FS_READ_FILE;
  for (const auto rights : {kOfFiles | LANDLOCK_ACCESS_FS_READ_DIR, kOfFiles}) {
    rule.allowed_access = rights;
    const long done =
        ::syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    if (done == 0) return;
  }
}

// Files can be named, but none can be made or changed, and only `readable` opened.
bool ForbidFiles(const Readable& readable) {
  landlock_ruleset_attr ruleset = {};
  ruleset.handled_access_fs = AllFileAccess();
  if (ruleset.handled_access_fs == 0) return false;  // an older kernel
  const UniqueFd rules(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &ruleset, sizeof(ruleset), 0)));
  if (!rules) return false;
  for (const std::string& path : readable.paths) AllowToRead(rules.get(), path);
  return ::syscall(SYS_landlock_restrict_self, rules.get(), 0) == 0;
}

#if NDLFS_WITH_SECCOMP
// The calls that a library needs: memory. AddRules() adds calls that are allowed for some
// arguments only.
constexpr int kCalls[] = {
    // Memory; mmap and mprotect are below.
    SCMP_SYS(brk),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(madvise),
    // qsort looks how much there is.
    SCMP_SYS(sysinfo),
    SCMP_SYS(futex),
    SCMP_SYS(getrandom),
    // Time, if the vDSO does not know it. The library sleeps before it reads a place again that
    // a writer is changing.
    SCMP_SYS(clock_gettime),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(time),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(nanosleep),
    SCMP_SYS(sched_yield),
    SCMP_SYS(restart_syscall),
    // To end, or to abort.
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(getpid),
    SCMP_SYS(gettid),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
};

// And those to read files.
constexpr int kFileCalls[] = {
    SCMP_SYS(read),
    SCMP_SYS(close),
    SCMP_SYS(lseek),
    SCMP_SYS(fstat),
    SCMP_SYS(newfstatat),
    SCMP_SYS(access),
    SCMP_SYS(faccessat),
    SCMP_SYS(faccessat2),
    // Older C libraries use these.
    SCMP_SYS(stat),
    SCMP_SYS(lstat),
};

using Filter = std::unique_ptr<void, decltype(&::seccomp_release)>;

bool AddRules(scmp_filter_ctx filter, bool reads_files) {
  const auto allow_all = [&](std::span<const int> calls) {
    return std::ranges::all_of(calls, [&](int call) {
      return ::seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0) == 0;
    });
  };
  if (!allow_all(kCalls) || (reads_files && !allow_all(kFileCalls))) return false;
  const auto no_code = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
  const auto anonymous = SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, MAP_ANONYMOUS);
  const auto itself = SCMP_A0(SCMP_CMP_EQ, static_cast<scmp_datum_t>(::getpid()), 0);
  const auto to_parent = SCMP_A0(SCMP_CMP_EQ, kHelperSocket, 0);
  // sendto() with an address could reach other sockets.
  const auto no_address = SCMP_A4(SCMP_CMP_EQ, 0, 0);
  const auto to_errors = SCMP_A0(SCMP_CMP_EQ, STDERR_FILENO, 0);
  const auto allow = [&](int call, std::initializer_list<scmp_arg_cmp> conditions) {
    return ::seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call,
                                    static_cast<unsigned>(conditions.size()),
                                    conditions.begin()) == 0;
  };
  const auto to_read =
      SCMP_A2(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC | O_PATH, O_RDONLY);
  if (reads_files && !allow(SCMP_SYS(openat), {to_read})) return false;
  return allow(SCMP_SYS(mmap), {no_code, anonymous}) && allow(SCMP_SYS(mprotect), {no_code}) &&
         allow(SCMP_SYS(recvfrom), {to_parent}) &&
         // Without sendmsg no descriptor can be passed on.
         allow(SCMP_SYS(sendto), {to_parent, no_address}) &&
         // To abort with a message.
         allow(SCMP_SYS(write), {to_errors}) && allow(SCMP_SYS(writev), {to_errors}) &&
         allow(SCMP_SYS(tgkill), {itself});
}

// A forbidden call fails as if the kernel did not have it (ENOSYS). A C library that prefers a
// newer call then uses the older one; after EPERM it would not. So an update of the C library
// does not end the process, although it brings new calls. The filter need not end the process
// for safety: an attacker in it can do no more with a call that fails.
bool ForbidOtherCalls(bool reads_files) {
  const Filter filter(::seccomp_init(SCMP_ACT_ERRNO(ENOSYS)), &::seccomp_release);
  return filter != nullptr && AddRules(filter.get(), reads_files) &&
         ::seccomp_load(filter.get()) == 0;
}
#else
bool ForbidOtherCalls(bool) { return false; }
#endif

}  // namespace

bool RefusesSystemCalls() { return NDLFS_WITH_SECCOMP && !model::kIsSanitized; }

Confinement EnterSandbox(const Readable& readable) {
  SetLimit(RLIMIT_CORE, 0);
  // If it cannot give them up, it has those of its parent.
  (void)DropCapabilities(0, 0).has_value();
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const bool forbids_files = ForbidFiles(readable);
  const bool reads_files = !readable.paths.empty();
  const bool forbids_calls = RefusesSystemCalls() && ForbidOtherCalls(reads_files);
  return {forbids_files || (forbids_calls && !reads_files), forbids_calls};
}

}  // namespace ndlfs::backends::helper
