// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace ndlfs::backends {

// The time by the clock of this machine, in nanoseconds since 1970.
int64_t MachineClockNs();

// Whether a file that was written at `time_ns` was written longer ago than `age`. `clock_ns` is
// the present time by the clock that gave the file its time. Without it, the file is compared
// with the clock of this machine, which may be wrong by a day.
bool IsOlderThan(int64_t time_ns, std::chrono::nanoseconds age,
                 std::optional<int64_t> clock_ns);

// The most that the clock of this machine and an unknown clock may differ.
inline constexpr std::chrono::nanoseconds kMostClockSkew = std::chrono::hours(24);

}  // namespace ndlfs::backends
