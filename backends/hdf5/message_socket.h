// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "backends/bytes.h"

namespace ndlfs::backends::hdf5 {

// Messages over a stream socket: 8 bytes of length, then that many bytes.

// False if the other end is gone.
bool SendMessage(int socket, ConstByteSpan message);

enum class Received { kMessage, kClosed, kTooLate };
// Waits for a message until `deadline`, if there is one. One of more than
// `limit` bytes counts as the other end being gone.
Received ReceiveMessage(int socket, std::vector<std::byte>& message, size_t limit,
                        std::optional<std::chrono::steady_clock::time_point> deadline = {});

}  // namespace ndlfs::backends::hdf5
