// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/message_socket.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>

namespace ndlfs::backends::hdf5 {
namespace {

using GoOn = std::function<bool()>;

constexpr int kTickMilliseconds = 100;

bool SendAll(int socket, ConstByteSpan bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return true;
}

Received WaitForBytes(int socket, const GoOn& go_on) {
  for (;;) {
    pollfd waiting{socket, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, go_on ? kTickMilliseconds : -1);
    if (ready > 0) return Received::kMessage;
    if (ready == 0 && !go_on()) return Received::kGivenUp;
    if (ready < 0 && errno != EINTR) return Received::kClosed;
  }
}

Received ReceiveAll(int socket, ByteSpan out, const GoOn& go_on) {
  while (!out.empty()) {
    if (const auto waited = WaitForBytes(socket, go_on); waited != Received::kMessage) {
      return waited;
    }
    const ssize_t count = ::recv(socket, out.data(), out.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return Received::kClosed;
    out = out.subspan(static_cast<size_t>(count));
  }
  return Received::kMessage;
}

}  // namespace

bool SendMessage(int socket, ConstByteSpan message) {
  const uint64_t size = message.size();
  return SendAll(socket, std::as_bytes(std::span(&size, 1))) && SendAll(socket, message);
}

Received ReceiveMessage(int socket, std::vector<std::byte>& message, size_t limit,
                        const GoOn& go_on) {
  uint64_t size = 0;
  const auto received = ReceiveAll(socket, std::as_writable_bytes(std::span(&size, 1)), go_on);
  if (received != Received::kMessage) return received;
  if (size > limit) return Received::kClosed;
  message.resize(size);
  return ReceiveAll(socket, message, go_on);
}

}  // namespace ndlfs::backends::hdf5
