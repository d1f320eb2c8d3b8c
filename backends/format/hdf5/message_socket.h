// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "backends/base/bytes.h"

namespace ndlfs::backends::hdf5 {

// Messages over a stream socket, in both directions by turns: each end sends
// one message and then waits for one. On the wire, a message is 8 bytes of its
// kind, 8 bytes of its length, and that many bytes.

// What a message is. Only the helper sends those marked with *.
enum class MessageKind : uint64_t {
  kQuestion,  // of a file
  kAnswer,    // * to the question
  kRead,      // * bytes of files are needed to answer
  kOpen,      // * another file is
  kReply,     // to kRead or kOpen
};

struct Message {
  MessageKind kind = MessageKind::kQuestion;
  std::vector<std::byte> bytes;
};

// Asked several times a second, and after every part of a message, whether to
// wait longer. Without one, waiting has no end.
using GoOn = std::function<bool()>;

// Lets sends and receives on `socket` return often enough to ask GoOn.
void SetTick(int socket);

// How a message went. kClosed: the other end is gone, or breaks the rules.
enum class Exchange { kDone, kClosed, kGivenUp };

Exchange SendMessage(int socket, MessageKind kind, ConstByteSpan bytes,
                     const GoOn& go_on = nullptr);

// Waits for a message. One of more than `limit(kind)` bytes breaks the rules.
Exchange ReceiveMessage(int socket, Message& message,
                        const std::function<uint64_t(MessageKind)>& limit,
                        const GoOn& go_on = nullptr);

}  // namespace ndlfs::backends::hdf5
