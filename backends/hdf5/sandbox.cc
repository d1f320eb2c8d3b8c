// SPDX-License-Identifier: MIT
#include "backends/hdf5/sandbox.h"

#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "backends/capabilities.h"

namespace ndlfs::backends::hdf5 {
namespace {

// Sanitizers reserve far more address space than they use.
#if defined(__has_feature)  // clang
#define NDLFS_SANITIZER(name) __has_feature(name)
#else
#define NDLFS_SANITIZER(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    NDLFS_SANITIZER(address_sanitizer) || NDLFS_SANITIZER(thread_sanitizer)
constexpr bool kLimitMemory = false;
#else
constexpr bool kLimitMemory = true;
#endif

constexpr rlim_t kMaxAddressSpace = rlim_t{6} << 30;

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

}  // namespace

void EnterSandbox(int root_fd) {
  SetLimit(RLIMIT_CORE, 0);
  if (kLimitMemory) SetLimit(RLIMIT_AS, kMaxAddressSpace);
  // Where it cannot give them up, it has what its parent had.
  (void)DropCapabilities(kReadAnyFile, kReadAnyFile).has_value();
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ConfineTo(root_fd);
}

}  // namespace ndlfs::backends::hdf5
