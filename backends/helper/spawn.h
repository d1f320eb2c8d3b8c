// SPDX-License-Identifier: MIT
//
// Starts helpers: processes that run a foreign library on the contents of files. If a file
// makes the library crash or hang, that does no harm to the mount.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/base/unique_fd.h"
#include "model/error.h"

namespace ndlfs::backends::helper {

// Where a helper finds the socket to its parent.
inline constexpr int kHelperSocket = 3;

// The two ends of a socket; see message_socket.h.
struct SocketPair {
  UniqueFd ours, theirs;
};
model::Result<SocketPair> MakeSocketPair();

// Starts `command`, and returns the number of the process. It has `socket` as kHelperSocket,
// and the first three descriptors of this process. Its environment has only the variables that
// it needs to start, and `variables`. The environment of the daemon may have credentials in it.
// A library that a hostile file has taken over could return them as a text.
model::Result<int> SpawnHelper(const std::vector<std::string>& command, int socket,
                               std::span<const std::string_view> variables);

// Ends a helper at once, and waits for its end. It has nothing to lose.
void KillHelper(int pid);

}  // namespace ndlfs::backends::helper
