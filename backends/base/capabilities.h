// SPDX-License-Identifier: MIT
//
// What root may do and ndlfs need not. Capabilities belong to a thread, and
// threads inherit them: the calls here are for a thread before it starts
// others.
#pragma once

#include <cstdint>

#include "model/error.h"

namespace ndlfs::backends {

inline constexpr uint64_t kReadAnyFile = uint64_t{1} << 2;    // CAP_DAC_READ_SEARCH
inline constexpr uint64_t kAdministrate = uint64_t{1} << 21;  // CAP_SYS_ADMIN: to unmount
// CAP_SETGID and CAP_SETUID: to open files as other users.
inline constexpr uint64_t kTakeIdentities = uint64_t{1} << 6 | uint64_t{1} << 7;

// Gives up, for good and for all processes that come of this one, what is not
// in `permitted`; what is not in `effective` is laid aside until
// RaiseCapabilities(). Who has none has none to lose.
model::Result<void> DropCapabilities(uint64_t effective, uint64_t permitted);

// Takes up again, in this thread, what was laid aside.
void RaiseCapabilities(uint64_t more);

// Whether all of `wanted` are in effect for the calling thread.
bool HasCapabilities(uint64_t wanted);

}  // namespace ndlfs::backends
