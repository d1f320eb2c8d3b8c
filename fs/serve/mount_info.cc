// SPDX-License-Identifier: MIT
#include "fs/serve/mount_info.h"

#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

namespace ndlfs::fs {
namespace {

// "\040" is a blank: how mountinfo writes what would end a field.
std::string Unescape(std::string_view field) {
  std::string out;
  for (size_t i = 0; i < field.size(); ++i) {
    const bool escaped = field[i] == '\\' && i + 3 < field.size();
    if (!escaped) {
      out += field[i];
      continue;
    }
    out +=
        static_cast<char>(std::strtol(std::string(field.substr(i + 1, 3)).c_str(), nullptr, 8));
    i += 3;
  }
  return out;
}

std::optional<MountEntry> ParseMountLine(const std::string& line) {
  // ID PARENT MAJOR:MINOR ROOT MOUNTPOINT OPTIONS [TAGS...] - TYPE SOURCE OPTIONS
  std::istringstream words(line);
  std::string word, device, mountpoint;
  words >> word >> word >> device >> word >> mountpoint;
  while (words >> word && word != "-") {
  }
  std::string type, source;
  if (!(words >> type >> source)) return std::nullopt;
  return MountEntry{Unescape(mountpoint), type, Unescape(source), device};
}

}  // namespace

std::vector<MountEntry> ParseMountInfo(const std::string& text) {
  std::vector<MountEntry> mounts;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (auto entry = ParseMountLine(line)) mounts.push_back(*std::move(entry));
  }
  return mounts;
}

std::vector<MountEntry> CurrentMounts() {
  const std::ifstream file("/proc/self/mountinfo");
  std::ostringstream text;
  text << file.rdbuf();
  return ParseMountInfo(text.str());
}

}  // namespace ndlfs::fs
