// SPDX-License-Identifier: MIT
//
// Drops the capabilities that ndlfs does not need when it runs as root.
// Capabilities belong to a thread, and new threads inherit them, so that these
// functions have to be called before a process starts other threads.
#pragma once

#include <cstdint>

#include "model/error.h"

namespace ndlfs::backends {

inline constexpr uint64_t kReadAnyFile = uint64_t{1} << 2;    // CAP_DAC_READ_SEARCH
inline constexpr uint64_t kAdministrate = uint64_t{1} << 21;  // CAP_SYS_ADMIN, for unmounting
// CAP_SETGID and CAP_SETUID, for opening files as other users.
inline constexpr uint64_t kTakeIdentities = uint64_t{1} << 6 | uint64_t{1} << 7;

// Drops all capabilities outside of `permitted` for good, for this thread and
// for its child processes. Suspends those outside of `effective` until
// RaiseCapabilities(). A process without capabilities has none to drop: that is
// a success.
model::Result<void> DropCapabilities(uint64_t effective, uint64_t permitted);

// Makes the capabilities in `more` effective again in this thread, if they are
// still permitted.
void RaiseCapabilities(uint64_t more);

// Makes the capabilities in `more` effective in this thread, if they are permitted, until it is
// destroyed. Cheap enough for each request.
class RaisedCapabilities {
 public:
  explicit RaisedCapabilities(uint64_t more);
  ~RaisedCapabilities();
  RaisedCapabilities(const RaisedCapabilities&) = delete;
  RaisedCapabilities& operator=(const RaisedCapabilities&) = delete;

 private:
  uint64_t raised_ = 0;  // those that were not effective before
};

// Whether all of `wanted` are in effect for the calling thread.
bool HasCapabilities(uint64_t wanted);

}  // namespace ndlfs::backends
