// SPDX-License-Identifier: MIT
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/error.h"

namespace ndlfs::fs {

// The number under which limits count the client at `address`: the same for all addresses that
// one client may have (of IPv6, the first 64 bits).
uid_t ClientOf(const sockaddr* address);

// The proxies in front of this server. Their fields `X-Forwarded-*` are believed, and those of
// nobody else.
class Proxies {
 public:
  // Each text is an address, a network ("10.0.0.0/8"), or "unix" for all clients of a Unix
  // socket.
  static model::Result<Proxies> Parse(const std::vector<std::string>& texts);

  bool Has(const sockaddr* address) const;
  // The client for which a proxy works: the last address in `forwarded_for`, the field
  // `X-Forwarded-For`, that is not one of these proxies. nullopt if there is none.
  std::optional<uid_t> ClientBehind(const std::string& forwarded_for) const;

 private:
  // Addresses of IPv4 are mapped (::ffff:0:0/96).
  using Address = std::array<uint8_t, 16>;
  struct Network {
    Address address;
    unsigned bits;
  };
  static std::optional<Address> ParseAddress(const std::string& text);
  bool Has(const Address& address) const;

  std::vector<Network> networks_;
  bool has_unix_ = false;
};

}  // namespace ndlfs::fs
