// SPDX-License-Identifier: MIT
#include "backends/store/object/environment.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <vector>

namespace ndlfs::backends::object {

std::string GetEnvironmentVariable(const char* name) {
  const char* const value = ::secure_getenv(name);
  return value == nullptr ? "" : value;
}

int64_t SystemTime() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string HomeDirectory(const GetVariable& variable) {
  std::string home = variable("HOME");
  if (!home.empty()) return home;
  std::vector<char> buffer(16 << 10);
  passwd entry{};
  passwd* found = nullptr;
  ::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found);
  return found == nullptr ? "" : found->pw_dir;
}

model::Result<std::optional<std::string>> ReadSmallFile(const std::string& path, size_t most) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    return model::IoError(errno, path);
  }
  std::string text(most + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (file.bad()) return model::IoError(EIO, path);
  if (text.size() > most) return model::Limit("{}: more than {} bytes", path, most);
  return text;
}

bool IsToken(std::string_view text) {
  return !text.empty() && std::none_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x21 || c == 0x7f;
  });
}

model::Result<std::string> ReadTokenFile(const std::string& path) {
  NDLFS_TRY(auto text, ReadSmallFile(path, 64 << 10));
  if (!text) return model::IoError(ENOENT, path);
  text->erase(text->find_last_not_of(" \t\r\n") + 1);
  if (!IsToken(*text)) return model::BadInput("{}: no token in it", path);
  return *std::move(text);
}

std::string FirstNotEmpty(std::initializer_list<std::string> candidates) {
  for (const std::string& candidate : candidates) {
    if (!candidate.empty()) return candidate;
  }
  return "";
}

}  // namespace ndlfs::backends::object
