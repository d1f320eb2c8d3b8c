// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>

namespace ndlfs::backends {

// Makes a system call anew while signals interrupt it, as they do on network filesystems.
// `call` returns what the system call does; errno is as the last one left it.
template <typename Call>
auto Uninterrupted(const Call& call) -> decltype(call()) {
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

}  // namespace ndlfs::backends
