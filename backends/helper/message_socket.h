// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "backends/base/bytes.h"

namespace ndlfs::backends::helper {

// Messages over a stream socket. The two ends take turns: each sends one message and then waits
// for one. On the wire, a message is 8 bytes of its length, and that many bytes.

// Whether to wait longer. Asked several times a second, and after every part of a message. If
// empty, waiting has no end.
using GoOn = std::function<bool()>;

// Lets sends and receives on `socket` return often enough to ask GoOn.
void SetTick(int socket);

// How sending or receiving ended. kClosed: the other end is gone, or breaks the rules.
enum class Exchange { kDone, kClosed, kGivenUp };

Exchange SendMessage(int socket, ConstByteSpan bytes, const GoOn& go_on = nullptr);

// Waits for a message. One of more than `limit` bytes breaks the rules.
Exchange ReceiveMessage(int socket, std::vector<std::byte>& message, uint64_t limit,
                        const GoOn& go_on = nullptr);

}  // namespace ndlfs::backends::helper
