// SPDX-License-Identifier: MIT
#include "fs/http/client_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <string_view>

#include "fs/http/parse/fields.h"
#include "model/secret_hash.h"

namespace ndlfs::fs {
namespace {

uid_t ClientOfBytes(const void* bytes, size_t size) {
  return static_cast<uid_t>(
      model::SecretHash(std::string_view(static_cast<const char*>(bytes), size)));
}

uid_t ClientOfV6(const in6_addr& address) {
  constexpr size_t kNetwork = 8;
  if (IN6_IS_ADDR_V4MAPPED(&address)) return ClientOfBytes(address.s6_addr + 12, 4);
  return ClientOfBytes(address.s6_addr, kNetwork);
}

bool IsOfThisMachine(const sockaddr* address) {
  if (address == nullptr || address->sa_family == AF_UNIX) return true;
  if (address->sa_family == AF_INET) {
    return ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr) >> 24 == 127;
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127);
}

}  // namespace

uid_t ClientOf(const sockaddr* address) {
  if (address == nullptr) return 0;
  if (address->sa_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
    return ClientOfBytes(&v4, sizeof(v4));
  }
  if (address->sa_family == AF_INET6) {
    return ClientOfV6(reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
  }
  return 0;
}

std::optional<uid_t> ClientBehindProxy(const sockaddr* proxy,
                                       const std::string& forwarded_for) {
  if (!IsOfThisMachine(proxy)) return std::nullopt;
  const size_t comma = forwarded_for.rfind(',');
  const std::string last(TrimBlanks(std::string_view(forwarded_for).substr(comma + 1)));
  in_addr v4;
  if (::inet_pton(AF_INET, last.c_str(), &v4) == 1) return ClientOfBytes(&v4, sizeof(v4));
  in6_addr v6;
  if (::inet_pton(AF_INET6, last.c_str(), &v6) == 1) return ClientOfV6(v6);
  return std::nullopt;
}

}  // namespace ndlfs::fs
