// SPDX-License-Identifier: MIT
#include "fs/cli/store/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

namespace ndlfs::fs {
namespace {

using model::Result;

constexpr size_t kDigits = 64;
constexpr uint64_t kMostManifestBytes = uint64_t{256} << 20;
constexpr std::string_view kEscaped = "\\\n\r";
constexpr std::string_view kLetters = "\\nr";  // of `kEscaped`, behind a backslash

std::optional<std::string> Unescape(std::string_view text) {
  std::string name;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      name += text[i];
      continue;
    }
    const size_t letter = ++i < text.size() ? kLetters.find(text[i]) : kLetters.npos;
    if (letter == kLetters.npos) return std::nullopt;
    name += kEscaped[letter];
  }
  return name;
}

std::optional<ManifestLine> ParseLine(std::string_view line) {
  const bool is_escaped = line.starts_with('\\');
  if (is_escaped) line.remove_prefix(1);
  if (line.size() <= kDigits + 2) return std::nullopt;
  const std::string_view digest = line.substr(0, kDigits);
  if (digest.find_first_not_of("0123456789abcdef") != digest.npos) return std::nullopt;
  if (line[kDigits] != ' ' || (line[kDigits + 1] != ' ' && line[kDigits + 1] != '*')) {
    return std::nullopt;
  }
  const std::string_view name = line.substr(kDigits + 2);
  auto unescaped = is_escaped ? Unescape(name) : std::string(name);
  if (!unescaped) return std::nullopt;
  return ManifestLine{*std::move(unescaped), std::string(digest)};
}

}  // namespace

std::string WriteManifestLine(const ManifestLine& line) {
  std::string name;
  for (const char c : line.name) {
    const size_t letter = kEscaped.find(c);
    if (letter == kEscaped.npos) {
      name += c;
    } else {
      name += {'\\', kLetters[letter]};
    }
  }
  return fmt::format("{}{}  {}\n", name == line.name ? "" : "\\", line.digest, name);
}

Result<std::vector<ManifestLine>> ParseManifest(std::string_view text) {
  std::vector<ManifestLine> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    auto line = ParseLine(text.substr(0, end));
    if (!line) {
      return model::BadInput("line {}: expected 64 hexadecimal digits, two blanks and a name",
                             lines.size() + 1);
    }
    lines.push_back(*std::move(line));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

Result<std::vector<ManifestLine>> ReadManifest(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return model::Propagate(model::IoError(errno, "open").value(), file);
  std::error_code error;
  if (std::filesystem::file_size(file, error) > kMostManifestBytes || error) {
    return model::Limit("{}: no file of at most {} bytes", file, kMostManifestBytes);
  }
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  NDLFS_TRY(auto lines, ParseManifest(text), file);
  return lines;
}

Result<void> WriteManifest(const std::string& file, const std::vector<ManifestLine>& lines) {
  const std::string temporary = file + ".new";
  std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
  for (const ManifestLine& line : lines) out << WriteManifestLine(line);
  out.close();
  if (!out || std::rename(temporary.c_str(), file.c_str()) != 0) {
    const int error = errno;
    std::remove(temporary.c_str());
    return model::Propagate(model::IoError(error, "write").value(), file);
  }
  return {};
}

}  // namespace ndlfs::fs
