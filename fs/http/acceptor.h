// SPDX-License-Identifier: MIT
//
// Accepts the connections of a server, on a thread of its own: however busy the one that reads
// them is, none of a new client waits behind those of others until it is accepted.
#pragma once

#include <sys/socket.h>

#include <functional>
#include <thread>

#include "backends/base/unique_fd.h"
#include "model/error.h"

namespace ndlfs::fs {

class Acceptor {
 public:
  // Called on the thread, with a socket that does not block and the address of its other end.
  using Take =
      std::function<void(backends::UniqueFd, const sockaddr_storage& address, socklen_t size)>;

  // `listening` does not block. Throws std::system_error if the system gives no thread.
  Acceptor(backends::UniqueFd listening, Take take);
  // Accepts no more, and closes `listening`.
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

 private:
  void Run();
  // False: there is none, or the system has no room for one.
  bool AcceptOne();

  const backends::UniqueFd listening_;
  const backends::UniqueFd end_;  // an eventfd(2)
  const Take take_;
  std::thread thread_;  // the last member: uses the others
};

}  // namespace ndlfs::fs
