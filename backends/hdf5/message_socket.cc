// SPDX-License-Identifier: MIT
#include "backends/hdf5/message_socket.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace ndlfs::backends::hdf5 {
namespace {

using Clock = std::chrono::steady_clock;
using Deadline = std::optional<Clock::time_point>;

bool SendAll(int socket, ConstByteSpan bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return true;
}

// Milliseconds for poll(); -1 is forever.
int TimeLeft(const Deadline& deadline) {
  if (!deadline) return -1;
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(*deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left + 1, 0, 1 << 30));
}

Received WaitForBytes(int socket, const Deadline& deadline) {
  for (;;) {
    pollfd waiting{socket, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, TimeLeft(deadline));
    if (ready > 0) return Received::kMessage;
    if (ready == 0) return Received::kTooLate;
    if (errno != EINTR) return Received::kClosed;
  }
}

Received ReceiveAll(int socket, ByteSpan out, const Deadline& deadline) {
  while (!out.empty()) {
    if (const auto waited = WaitForBytes(socket, deadline); waited != Received::kMessage) {
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
                        std::optional<Clock::time_point> deadline) {
  uint64_t size = 0;
  const auto received =
      ReceiveAll(socket, std::as_writable_bytes(std::span(&size, 1)), deadline);
  if (received != Received::kMessage) return received;
  if (size > limit) return Received::kClosed;
  message.resize(size);
  return ReceiveAll(socket, message, deadline);
}

}  // namespace ndlfs::backends::hdf5
