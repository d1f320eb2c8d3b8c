// SPDX-License-Identifier: MIT
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

namespace ndlfs::test {

// Whether `succeeds`, in a process of its own, returns false or ends the process. What it says
// is lost. The calling process must have one thread.
inline bool FailsInAChild(const std::function<bool()>& succeeds) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    if (std::freopen("/dev/null", "w", stderr) == nullptr) std::_Exit(0);
    if (std::freopen("/dev/null", "w", stdout) == nullptr) std::_Exit(0);
    std::_Exit(succeeds() ? 0 : 1);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return false;
  return status != 0;
}

// Leaves steps out, many at once and then one by one, as long as the rest still fails.
template <typename Step>
std::vector<Step> Shrink(std::vector<Step> steps,
                         const std::function<bool(const std::vector<Step>&)>& fails) {
  size_t count = steps.size() / 2;
  while (count != 0) {
    bool is_shorter = false;
    for (size_t at = 0; at < steps.size();) {
      std::vector<Step> fewer = steps;
      const auto begin = fewer.begin() + static_cast<std::ptrdiff_t>(at);
      const size_t left = std::min(count, steps.size() - at);
      fewer.erase(begin, begin + static_cast<std::ptrdiff_t>(left));
      if (fails(fewer)) {
        steps = std::move(fewer);
        is_shorter = true;
      } else {
        at += count;
      }
    }
    if (count > 1 || !is_shorter) count /= 2;  // one by one until none can be left out
  }
  return steps;
}

}  // namespace ndlfs::test
