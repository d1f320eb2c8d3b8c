// SPDX-License-Identifier: MIT
#include "backends/base/capabilities.h"

#include <cap-ng.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace ndlfs::backends {
namespace {

constexpr uint64_t Bit(unsigned capability) { return uint64_t{1} << capability; }

static_assert(kReadAnyFile == Bit(CAP_DAC_READ_SEARCH));
static_assert(kAdministrate == Bit(CAP_SYS_ADMIN));
static_assert(kTakeIdentities == (Bit(CAP_SETGID) | Bit(CAP_SETUID)));

constexpr unsigned kMaxCapabilities = 64;

void Drop(int types, unsigned capability) {
  (void)capng_update(CAPNG_DROP, static_cast<capng_type_t>(types), capability);
}

// The capabilities of this thread, as the kernel takes and gives them: in two halves.
class CapabilitySets {
 public:
  bool Get() { return ::syscall(SYS_capget, &header_, halves_.data()) == 0; }
  uint64_t permitted() const { return Join(halves_[0].permitted, halves_[1].permitted); }
  uint64_t effective() const { return Join(halves_[0].effective, halves_[1].effective); }
  bool SetEffective(uint64_t effective) {
    halves_[0].effective = static_cast<uint32_t>(effective);
    halves_[1].effective = static_cast<uint32_t>(effective >> 32);
    return ::syscall(SYS_capset, &header_, halves_.data()) == 0;
  }

 private:
  static uint64_t Join(uint32_t low, uint32_t high) { return uint64_t{high} << 32 | low; }

  __user_cap_header_struct header_ = {_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> halves_ = {};
};

}  // namespace

model::Result<void> DropCapabilities(uint64_t effective, uint64_t permitted) {
  if (capng_get_caps_process() != 0) return model::IoError(errno, "capget");
  if (capng_have_permitted_capabilities() == CAPNG_NONE) return {};
  // The library ignores capabilities that the kernel does not have.
  for (unsigned i = 0; i < kMaxCapabilities; ++i) {
    Drop(CAPNG_INHERITABLE | CAPNG_AMBIENT, i);
    if ((permitted & Bit(i)) == 0) Drop(CAPNG_PERMITTED | CAPNG_BOUNDING_SET, i);
    if ((effective & permitted & Bit(i)) == 0) Drop(CAPNG_EFFECTIVE, i);
  }
  // The first two calls limit the programs that this process executes. They fail
  // without CAP_SETPCAP, which is no reason to stop.
  (void)capng_apply(CAPNG_SELECT_BOUNDS);
  (void)capng_apply(CAPNG_SELECT_AMBIENT);
  if (capng_apply(CAPNG_SELECT_CAPS) != 0) return model::IoError(errno, "capset");
  return {};
}

void RaiseCapabilities(uint64_t more) {
  if (capng_get_caps_process() != 0) return;
  for (unsigned i = 0; i < kMaxCapabilities; ++i) {
    if ((more & Bit(i)) == 0 || !capng_have_capability(CAPNG_PERMITTED, i)) continue;
    (void)capng_update(CAPNG_ADD, CAPNG_EFFECTIVE, i);
  }
  (void)capng_apply(CAPNG_SELECT_CAPS);
}

// libcap-ng would ask for all sets of capabilities, one by one.
RaisedCapabilities::RaisedCapabilities(uint64_t more) {
  CapabilitySets sets;
  if (!sets.Get()) return;
  const uint64_t raised = more & sets.permitted() & ~sets.effective();
  if (raised != 0 && sets.SetEffective(sets.effective() | raised)) raised_ = raised;
}

RaisedCapabilities::~RaisedCapabilities() {
  CapabilitySets sets;
  if (raised_ != 0 && sets.Get()) (void)sets.SetEffective(sets.effective() & ~raised_);
}

bool HasCapabilities(uint64_t wanted) {
  if (capng_get_caps_process() != 0) return false;
  for (unsigned i = 0; i < kMaxCapabilities; ++i) {
    if ((wanted & Bit(i)) != 0 && !capng_have_capability(CAPNG_EFFECTIVE, i)) return false;
  }
  return true;
}

}  // namespace ndlfs::backends
