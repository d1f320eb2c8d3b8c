// SPDX-License-Identifier: MIT
#include "fs/http/acceptor.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace ndlfs::fs {

using backends::UniqueFd;

Acceptor::Acceptor(UniqueFd listening, Take take)
    : listening_(std::move(listening)),
      end_(::eventfd(0, EFD_CLOEXEC)),
      take_(std::move(take)),
      thread_([this] { Run(); }) {}

Acceptor::~Acceptor() {
  ::eventfd_write(end_.get(), 1);
  thread_.join();
}

bool Acceptor::AcceptOne() {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  UniqueFd accepted(::accept4(listening_.get(), reinterpret_cast<sockaddr*>(&address), &size,
                              SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!accepted) return errno == ECONNABORTED || errno == EINTR;
  take_(std::move(accepted), address, size);
  return true;
}

void Acceptor::Run() {
  constexpr int kForRoomMs = 50;
  std::array<pollfd, 2> looks = {{{.fd = end_.get(), .events = POLLIN, .revents = 0},
                                  {.fd = listening_.get(), .events = POLLIN, .revents = 0}}};
  for (;;) {
    ::poll(looks.data(), looks.size(), -1);
    if (looks[0].revents != 0) return;
    if (looks[1].revents == 0 || AcceptOne() || errno == EAGAIN) continue;
    // No descriptor is left, or no memory.
    ::poll(looks.data(), 1, kForRoomMs);
  }
}

}  // namespace ndlfs::fs
