// SPDX-License-Identifier: MIT
#include "fs/serve/service.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace ndlfs::fs {
namespace {

using backends::UniqueFd;

// A datagram socket that leads to `path`, where "@" begins an abstract name.
UniqueFd Connect(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) return {};
  std::memcpy(address.sun_path, path.data(), path.size());
  if (path[0] == '@') address.sun_path[0] = '\0';
  UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd) return {};
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  const auto* any = reinterpret_cast<const sockaddr*>(&address);
  return ::connect(fd.get(), any, size) == 0 ? std::move(fd) : UniqueFd();
}

bool SendAll(const UniqueFd& fd, const std::string& text) {
  return ::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(text.size());
}

// "NAME=value", or with its length before it where the value has several lines.
void AppendField(std::string& entry, std::string_view name, std::string_view value) {
  entry += name;
  if (value.find('\n') == std::string_view::npos) {
    entry += '=';
  } else {
    entry += '\n';
    for (int byte = 0; byte < 8; ++byte) {
      entry += static_cast<char>(static_cast<uint64_t>(value.size()) >> (8 * byte) & 0xff);
    }
  }
  entry += value;
  entry += '\n';
}

}  // namespace

void NotifyManager(const std::string& state) {
  const char* socket = std::getenv("NOTIFY_SOCKET");
  if (socket == nullptr) return;
  if (const UniqueFd fd = Connect(socket)) SendAll(fd, state);
}

std::optional<Journal> Journal::Open(Fields fields, const std::string& socket) {
  UniqueFd fd = Connect(socket);
  if (!fd) return std::nullopt;
  return Journal(std::move(fd), std::move(fields));
}

bool Journal::Send(int priority, std::string_view message) const {
  std::string entry;
  AppendField(entry, "MESSAGE", message);
  AppendField(entry, "PRIORITY", std::to_string(priority));
  AppendField(entry, "SYSLOG_IDENTIFIER", "ndlfs");
  for (const auto& [name, value] : fields_) AppendField(entry, name, value);
  return SendAll(fd_, entry);
}

bool StandardErrorIsJournal() {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct ::stat status;
  if (stream == nullptr || ::fstat(STDERR_FILENO, &status) != 0) return false;
  return fmt::format("{}:{}", status.st_dev, status.st_ino) == stream;
}

}  // namespace ndlfs::fs
