// SPDX-License-Identifier: MIT
//
// The clock that gives files on this machine their times.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

#include "backends/store/local/source_root.h"

namespace ndlfs::backends {

// The time that a file of this machine would get if it were written now, in nanoseconds since
// 1970: that of the kernel's last tick. Asks the kernel itself, because a library may show this
// process another time of day than that of its files.
int64_t FileClockNs();

// Whether the file that is open as `fd` is on a file system that takes its times from the clock
// of this machine. False for times of other machines, and if it is not known.
bool HasTimesOfThisMachine(int fd);

// Store::ClockNs() of the store at one path. Finds out once which clock that is. Thread-safe.
class ClockOfPath {
 public:
  std::optional<int64_t> NowNs(const SourceRoot& root, std::string_view path) const;

 private:
  enum class Whose : uint8_t { kNotKnownYet, kOfThisMachine, kOfAnother };
  mutable std::atomic<Whose> whose_ = Whose::kNotKnownYet;
};

}  // namespace ndlfs::backends
