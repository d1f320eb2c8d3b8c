// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "backends/base/bytes.h"

namespace ndlfs::backends::hdf5 {

// Messages over a stream socket: 8 bytes of length, then that many bytes.

// False if the other end is gone.
bool SendMessage(int socket, ConstByteSpan message);

enum class Received { kMessage, kClosed, kGivenUp };
// Waits for a message. One of more than `limit` bytes counts as the other end
// being gone. `go_on`, if given, is asked several times a second whether to
// wait longer.
Received ReceiveMessage(int socket, std::vector<std::byte>& message, size_t limit,
                        const std::function<bool()>& go_on = nullptr);

}  // namespace ndlfs::backends::hdf5
