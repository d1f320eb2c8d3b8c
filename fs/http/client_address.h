// SPDX-License-Identifier: MIT
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <optional>
#include <string>

namespace ndlfs::fs {

// The number under which limits count the client at `address`: the same for all addresses that
// one client may have (of IPv6, the first 64 bits).
uid_t ClientOf(const sockaddr* address);

// The client for which a proxy works: the last address in `forwarded_for`, the field
// `X-Forwarded-For`. Only a proxy on this machine is believed; nullopt otherwise.
std::optional<uid_t> ClientBehindProxy(const sockaddr* proxy, const std::string& forwarded_for);

}  // namespace ndlfs::fs
