// SPDX-License-Identifier: MIT
#include "backends/capabilities.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace ndlfs::backends {
namespace {

constexpr uint64_t Bit(unsigned capability) { return uint64_t{1} << capability; }

static_assert(kReadAnyFile == Bit(CAP_DAC_READ_SEARCH));
static_assert(kAdministrate == Bit(CAP_SYS_ADMIN));

struct Capabilities {
  uint64_t effective = 0;
  uint64_t permitted = 0;
  uint64_t inheritable = 0;
};

// The kernel has them in two halves.
bool Get(Capabilities& capabilities) {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct halves[2] = {};
  if (::syscall(SYS_capget, &header, halves) != 0) return false;
  const auto join = [](uint32_t low, uint32_t high) { return uint64_t{high} << 32 | low; };
  capabilities = {join(halves[0].effective, halves[1].effective),
                  join(halves[0].permitted, halves[1].permitted),
                  join(halves[0].inheritable, halves[1].inheritable)};
  return true;
}

bool Set(const Capabilities& capabilities) {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct halves[2] = {};
  for (unsigned half = 0; half < 2; ++half) {
    const unsigned shift = 32 * half;
    halves[half] = {static_cast<uint32_t>(capabilities.effective >> shift),
                    static_cast<uint32_t>(capabilities.permitted >> shift),
                    static_cast<uint32_t>(capabilities.inheritable >> shift)};
  }
  return ::syscall(SYS_capset, &header, halves) == 0;
}

// What programs that are executed may have. Ends with the first capability
// that the kernel does not know.
void Bound(uint64_t keep) {
  for (unsigned capability = 0; capability < 64; ++capability) {
    if ((keep & Bit(capability)) != 0) continue;
    if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 && errno == EINVAL) return;
  }
}

}  // namespace

model::Result<void> DropCapabilities(uint64_t effective, uint64_t permitted) {
  Capabilities now;
  if (!Get(now)) return model::IoError(errno, "capget");
  if (now.permitted == 0) return {};
  Bound(permitted);
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  const Capabilities kept = {.effective = now.effective & effective,
                             .permitted = now.permitted & permitted};
  if (!Set(kept)) return model::IoError(errno, "capset");
  return {};
}

void RaiseCapabilities(uint64_t more) {
  Capabilities now;
  if (!Get(now)) return;
  now.effective |= now.permitted & more;
  Set(now);
}

}  // namespace ndlfs::backends
