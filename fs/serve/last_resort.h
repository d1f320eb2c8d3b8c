// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <functional>

namespace ndlfs::fs {

// Ends this process some seconds after its mount has ended, whatever still runs. Work that
// nobody waits for is asked to stop. But a library may not check, a system call may never
// return, and a server may never answer. The process writes nothing that it could leave half
// done.
class LastResort {
 public:
  // Longer than work takes that stops when it is asked to, and shorter than people like to
  // wait.
  static constexpr std::chrono::milliseconds kLongestEnd{3000};

  // Gives the process `within` from now to end by itself. Otherwise calls `before`, on another
  // thread, and ends the process with `status`. Call it once.
  static void Begin(std::function<void()> before, int status,
                    std::chrono::milliseconds within = kLongestEnd);

  // Makes sure that `before` will not be called any more. Waits for it to end if it has begun.
  static void Forget();
};

}  // namespace ndlfs::fs
