// SPDX-License-Identifier: MIT
//
// The socket that a server listens at.
#pragma once

#include <sys/types.h>

#include <string>

#include "backends/base/unique_fd.h"
#include "model/error.h"

namespace ndlfs::fs {

struct Listener {
  backends::UniqueFd socket;  // does not block
  // "http://127.0.0.1:8080", or "unix:/run/x.sock".
  std::string url;
  // Whether only programs of this machine reach it.
  bool is_local = false;
  bool is_unix = false;
};

// Listens at "ADDRESS:PORT", ":PORT" (all addresses) or "PORT" (127.0.0.1). An IPv6 address is
// in brackets. Port 0 is any free one.
model::Result<Listener> ListenAt(const std::string& address);
// Listens at a Unix socket, which the users that `mode` permits may use. Takes the place of a
// socket at which nobody listens any more.
model::Result<Listener> ListenAtSocket(const std::string& path, mode_t mode);
// Whether systemd has opened a socket for this process (sd_listen_fds(3)).
bool HasGivenSocket();
model::Result<Listener> TakeGivenSocket();

}  // namespace ndlfs::fs
