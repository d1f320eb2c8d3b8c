// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <functional>

namespace ndlfs::fs {

// Ends this process some seconds after its mount has ended, whatever still runs. Work that
// nobody waits for is asked to stop; but a library may not ask, a system call may never return,
// and a server may never answer. The process writes nothing that it could leave half done.
class LastResort {
 public:
  // More than work takes that stops when it is asked to, and less than people wait for.
  static constexpr std::chrono::milliseconds kLongestEnd{3000};

  // From now on the process has `within` to end by itself. Otherwise `before` is called, on
  // another thread, and the process ends with `status`. To be called once.
  static void Begin(std::function<void()> before, int status,
                    std::chrono::milliseconds within = kLongestEnd);

  // `before` will not be called any more. Waits for it to end if it has begun.
  static void Forget();
};

}  // namespace ndlfs::fs
