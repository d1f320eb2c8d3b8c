// SPDX-License-Identifier: MIT
#include "fs/http/listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace ndlfs::fs {
namespace {

using backends::UniqueFd;
using model::BadInput;
using model::Quote;
using model::Result;

// Connections that wait until they are accepted; the system may allow fewer. A client for whom
// there is no room tries again after a second.
constexpr int kBacklog = 16'384;
// The first descriptor that systemd passes on.
constexpr int kFirstGiven = 3;

struct HostAndPort {
  std::string host;
  std::string port;
};

Result<HostAndPort> SplitAddress(const std::string& address) {
  HostAndPort out{"127.0.0.1", address};
  const size_t colon = address.rfind(':');
  if (colon != address.npos) {
    out.host = address.substr(0, colon);
    out.port = address.substr(colon + 1);
  }
  if (out.host.starts_with('[') && out.host.ends_with(']')) {
    out.host = out.host.substr(1, out.host.size() - 2);
  }
  const bool is_number = !out.port.empty() && out.port.size() <= 5 &&
                         out.port.find_first_not_of("0123456789") == out.port.npos &&
                         std::stoi(out.port) <= 65535;
  if (!is_number) return BadInput("--listen: {} has no port from 0 to 65535", Quote(address));
  return out;
}

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Result<AddressList> FindAddresses(const std::string& address, const HostAndPort& place) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(place.host.empty() ? nullptr : place.host.c_str(),
                                  place.port.c_str(), &hints, &found);
  if (error != 0) return BadInput("--listen: {}: {}", Quote(address), ::gai_strerror(error));
  return AddressList(found, &::freeaddrinfo);
}

bool IsLoopback(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    return ntohl(v4.sin_addr.s_addr) >> 24 == 127;
  }
  if (address.ss_family == AF_INET6) {
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr) != 0;
  }
  return false;
}

// The URL of an address; of all addresses, that of this machine's name.
std::string UrlOf(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> text = {};
  uint16_t port = 0;
  bool is_any = false;
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    ::inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
    port = ntohs(v4.sin_port);
    is_any = v4.sin_addr.s_addr == INADDR_ANY;
  } else {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
    port = ntohs(v6.sin6_port);
    is_any = IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr) != 0;
  }
  std::string host = text.data();
  if (is_any) {
    std::array<char, 256> name = {};
    host = ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
  } else if (address.ss_family == AF_INET6) {
    host = '[' + host + ']';
  }
  return fmt::format("http://{}:{}", host, port);
}

// Has the system ask whether a client that says nothing is still there, and end the connection
// if none answers; and keep little that a slow client has not taken yet, where it would keep
// some MiB. Connections take this over from the socket that accepts them.
void SetClientOptions(int socket) {
  constexpr std::array<std::pair<int, int>, 5> kTcpOptions = {{{TCP_KEEPIDLE, 20},
                                                               {TCP_KEEPINTVL, 5},
                                                               {TCP_KEEPCNT, 3},
                                                               {TCP_USER_TIMEOUT, 35'000},
                                                               {TCP_NOTSENT_LOWAT, 128 << 10}}};
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  for (const auto& [option, value] : kTcpOptions) {
    ::setsockopt(socket, IPPROTO_TCP, option, &value, sizeof(value));
  }
}

// What `socket` is bound to.
Result<Listener> Describe(UniqueFd socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return model::IoError(errno, "the socket");
  }
  Listener out;
  out.socket = std::move(socket);
  out.is_unix = address.ss_family == AF_UNIX;
  out.is_local = out.is_unix || IsLoopback(address);
  if (!out.is_unix) SetClientOptions(out.socket.get());
  if (out.is_unix) {
    out.url = fmt::format("unix:{}", reinterpret_cast<const sockaddr_un&>(address).sun_path);
  } else {
    out.url = UrlOf(address);
  }
  return out;
}

Result<UniqueFd> BindTo(const addrinfo& address) {
  UniqueFd socket(::socket(address.ai_family,
                           address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                           address.ai_protocol));
  if (!socket) return model::IoError(errno, "socket");
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (address.ai_family == AF_INET6) {
    const int off = 0;
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  }
  if (::bind(socket.get(), address.ai_addr, address.ai_addrlen) != 0 ||
      ::listen(socket.get(), kBacklog) != 0) {
    return model::IoError(errno, "listen");
  }
  return socket;
}

bool SomebodyListens(const sockaddr_un& address) {
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                   sizeof(address)) == 0;
}

}  // namespace

Result<Listener> ListenAt(const std::string& address) {
  NDLFS_TRY(const HostAndPort place, SplitAddress(address));
  NDLFS_TRY(const AddressList addresses, FindAddresses(address, place));
  // The first that works: IPv6 may be switched off.
  model::Failure failure = BadInput("--listen: {}: no address", Quote(address));
  for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
    auto socket = BindTo(*one);
    if (socket) return Describe(*std::move(socket));
    failure = BadInput("--listen: {}: {}", Quote(address), socket.error().SystemText());
  }
  return failure;
}

Result<Listener> ListenAtSocket(const std::string& path, mode_t mode) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return BadInput("--socket: {} is empty or too long", Quote(path));
  }
  std::copy(path.begin(), path.end(), address.sun_path);
  struct ::stat status;
  if (::lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode)) {
    if (SomebodyListens(address)) {
      return BadInput("--socket: {}: another program listens there", Quote(path));
    }
    ::unlink(path.c_str());
  }
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return model::IoError(errno, "--socket");
  const mode_t mask = ::umask(0777 & ~mode);
  const int bound =
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  const int error = errno;
  ::umask(mask);
  if (bound != 0 || ::listen(socket.get(), kBacklog) != 0) {
    return BadInput("--socket: {}: {}", Quote(path), std::strerror(bound != 0 ? error : errno));
  }
  return Describe(std::move(socket));
}

bool HasGivenSocket() {
  const char* const pid = std::getenv("LISTEN_PID");
  const char* const count = std::getenv("LISTEN_FDS");
  return pid != nullptr && count != nullptr && std::string_view(count) != "0" &&
         std::string_view(pid) == fmt::to_string(::getpid());
}

Result<Listener> TakeGivenSocket() {
  if (std::string_view(std::getenv("LISTEN_FDS")) != "1") {
    return BadInput("systemd has opened several sockets, and one is served");
  }
  UniqueFd socket(kFirstGiven);
  ::fcntl(socket.get(), F_SETFD, FD_CLOEXEC);
  ::fcntl(socket.get(), F_SETFL, ::fcntl(socket.get(), F_GETFL) | O_NONBLOCK);
  int listens = 0;
  socklen_t size = sizeof(listens);
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 ||
      listens == 0) {
    return BadInput("systemd has opened no stream socket (ListenStream=, Accept=no)");
  }
  return Describe(std::move(socket));
}

}  // namespace ndlfs::fs
