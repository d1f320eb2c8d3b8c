// SPDX-License-Identifier: MIT
#include "backends/store/source_clock.h"

namespace ndlfs::backends {

int64_t MachineClockNs() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

bool IsOlderThan(int64_t time_ns, std::chrono::nanoseconds age,
                 std::optional<int64_t> clock_ns) {
  const int64_t latest =
      clock_ns ? *clock_ns : MachineClockNs() - int64_t{kMostClockSkew.count()};
  return time_ns < latest - int64_t{age.count()};
}

}  // namespace ndlfs::backends
