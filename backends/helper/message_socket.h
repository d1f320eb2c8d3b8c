// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "backends/base/bytes.h"

namespace ndlfs::backends::helper {

// Messages over a stream socket. The two ends take turns: each sends one message and then waits
// for one. On the wire, a message is 8 bytes of its kind, 8 bytes of its length, and that many
// bytes.

// The kinds of messages. Only the helper sends those marked with *.
enum class MessageKind : uint64_t {
  kQuestion,  // about a file
  kAnswer,    // * to the question
  kRead,      // * the answer needs bytes of files
  kOpen,      // * the answer needs another file
  kReply,     // to kRead or kOpen
};

struct Message {
  MessageKind kind = MessageKind::kQuestion;
  std::vector<std::byte> bytes;
};

// Whether to wait longer. Asked several times a second, and after every part of a message. If
// empty, waiting has no end.
using GoOn = std::function<bool()>;

// Lets sends and receives on `socket` return often enough to ask GoOn.
void SetTick(int socket);

// How sending or receiving ended. kClosed: the other end is gone, or breaks the rules.
enum class Exchange { kDone, kClosed, kGivenUp };

Exchange SendMessage(int socket, MessageKind kind, ConstByteSpan bytes,
                     const GoOn& go_on = nullptr);

// Waits for a message. One of more than `limit(kind)` bytes breaks the rules.
Exchange ReceiveMessage(int socket, Message& message,
                        const std::function<uint64_t(MessageKind)>& limit,
                        const GoOn& go_on = nullptr);

}  // namespace ndlfs::backends::helper
