// SPDX-License-Identifier: MIT
#include "backends/helper/message_socket.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace ndlfs::backends::helper {
namespace {

constexpr int kTickMicroseconds = 100'000;

// A message that is no longer than this takes one system call at each end.
constexpr size_t kSmall = 4096;

// Memory for a longer one, to begin with.
constexpr size_t kFirstStep = size_t{1} << 20;

// How to continue after a call that moved `count` bytes, or none.
Exchange AfterCall(ssize_t count, const GoOn& go_on) {
  if (count == 0) return Exchange::kClosed;
  const bool may_retry = count > 0 || errno == EINTR || errno == EAGAIN;
  if (!may_retry) return Exchange::kClosed;
  return go_on && !go_on() ? Exchange::kGivenUp : Exchange::kDone;
}

Exchange SendAll(int socket, ConstByteSpan bytes, const GoOn& go_on) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count > 0) bytes = bytes.subspan(static_cast<size_t>(count));
    if (bytes.empty()) break;
    if (const auto next = AfterCall(count, go_on); next != Exchange::kDone) return next;
  }
  return Exchange::kDone;
}

// Receives at least `needed` bytes into `out`, and no more than there is room
// for; `received` says how many.
Exchange ReceiveSome(int socket, ByteSpan out, size_t needed, size_t& received,
                     const GoOn& go_on) {
  received = 0;
  while (received < needed) {
    const ssize_t count = ::recv(socket, out.data() + received, out.size() - received, 0);
    if (count > 0) received += static_cast<size_t>(count);
    if (received >= needed) break;
    if (const auto next = AfterCall(count, go_on); next != Exchange::kDone) return next;
  }
  return Exchange::kDone;
}

// Receives more until `bytes` has `size`. Its memory grows with the bytes that have come,
// because the other end may claim any size.
Exchange ReceiveRest(int socket, uint64_t size, std::vector<std::byte>& bytes,
                     const GoOn& go_on) {
  while (bytes.size() < size) {
    const size_t had = bytes.size();
    bytes.resize(std::min<uint64_t>(size, std::max(kFirstStep, 2 * had)));
    const ByteSpan step = ByteSpan(bytes).subspan(had);
    size_t received = 0;
    const auto done = ReceiveSome(socket, step, step.size(), received, go_on);
    if (done != Exchange::kDone) return done;
  }
  return Exchange::kDone;
}

}  // namespace

void SetTick(int socket) {
  const timeval tick = {.tv_sec = 0, .tv_usec = kTickMicroseconds};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &tick, sizeof(tick));
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &tick, sizeof(tick));
}

Exchange SendMessage(int socket, ConstByteSpan bytes, const GoOn& go_on) {
  const uint64_t size = bytes.size();
  std::array<std::byte, sizeof(size) + kSmall> first;
  std::memcpy(first.data(), &size, sizeof(size));
  const size_t count = std::min(bytes.size(), kSmall);
  if (count != 0) std::memcpy(first.data() + sizeof(size), bytes.data(), count);
  const auto sent = SendAll(socket, ConstByteSpan(first).first(sizeof(size) + count), go_on);
  if (sent != Exchange::kDone) return sent;
  return SendAll(socket, bytes.subspan(count), go_on);
}

Exchange ReceiveMessage(int socket, std::vector<std::byte>& message, uint64_t limit,
                        const GoOn& go_on) {
  uint64_t size;
  std::array<std::byte, sizeof(size) + kSmall> first;
  size_t received = 0;
  const auto begun = ReceiveSome(socket, first, sizeof(size), received, go_on);
  if (begun != Exchange::kDone) return begun;
  std::memcpy(&size, first.data(), sizeof(size));
  // More than the message: the other end does not wait for its turn.
  if (size > limit || received - sizeof(size) > size) return Exchange::kClosed;
  message.assign(first.begin() + sizeof(size), first.begin() + received);
  return ReceiveRest(socket, size, message, go_on);
}

}  // namespace ndlfs::backends::helper
