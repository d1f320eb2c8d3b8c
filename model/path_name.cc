// SPDX-License-Identifier: MIT
#include "model/path_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "model/hash.h"
#include "model/reserved_names.h"
#include "model/utf8.h"

namespace ndlfs::model {
namespace {

constexpr size_t kMaxFileName = 255;
constexpr size_t kHashSuffix = 17;  // '~' and 16 hexadecimal digits

bool IsHexDigit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool IsEscape(std::string_view text) {
  return text.size() >= 3 && text[0] == '%' && IsHexDigit(text[1]) && IsHexDigit(text[2]);
}

void AppendEscape(std::string& out, char byte) {
  fmt::format_to(std::back_inserter(out), "%{:02X}", static_cast<unsigned char>(byte));
}

// FNV-1a. It must never change: people have file names with these hashes in
// their scripts.
uint64_t HashName(std::string_view name) { return AddFnv(kFnvBegin, name); }

// The file name before it is shortened.
std::string EscapeName(std::string_view name) {
  if (name == ".") return "%2E";
  if (name == "..") return "%2E%2E";
  std::string out;
  out.reserve(name.size() + 8);
  if (IsReservedFileName(name)) {
    AppendEscape(out, name.front());
    name.remove_prefix(1);
  }
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (c == '/' || c == '\0' || IsEscape(name.substr(i))) {
      AppendEscape(out, c);
    } else {
      out += c;
    }
  }
  return out;
}

// The longest prefix of at most `limit` bytes that cuts neither an escape nor a
// character.
std::string_view CutName(std::string_view name, size_t limit) {
  size_t end = 0;
  while (end < name.size()) {
    const std::string_view rest = name.substr(end);
    size_t step = IsEscape(rest) ? 3 : Utf8SequenceLength(rest);
    if (step == 0) step = 1;
    if (end + step > limit) break;
    end += step;
  }
  return name.substr(0, end);
}

int HexValue(char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; }

}  // namespace

std::string JoinPath(std::string_view group, std::string_view name) {
  std::string path(group);
  if (path.empty() || path.back() != '/') path += '/';
  path += name;
  return path;
}

std::string_view ParentPath(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos || slash == 0 ? "/" : path.substr(0, slash);
}

std::string_view BaseName(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool IsBelow(std::string_view path, std::string_view group) {
  if (group == "/") return true;
  return path.starts_with(group) && (path.size() == group.size() || path[group.size()] == '/');
}

std::vector<std::string_view> SplitPath(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const size_t slash = path.find('/');
    if (slash != 0) parts.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  return parts;
}

std::string EncodeFileName(std::string_view name) {
  std::string escaped = EscapeName(name);
  if (!escaped.empty() && escaped.size() <= kMaxFileName && !IsShortenedFileName(escaped)) {
    return escaped;
  }
  return fmt::format("{}~{:016x}", CutName(escaped, kMaxFileName - kHashSuffix),
                     HashName(name));
}

std::string DecodeFileName(std::string_view file_name) {
  if (IsShortenedFileName(file_name)) return {};
  std::string name;
  for (size_t i = 0; i < file_name.size(); ++i) {
    if (IsEscape(file_name.substr(i))) {
      name += static_cast<char>(16 * HexValue(file_name[i + 1]) + HexValue(file_name[i + 2]));
      i += 2;
    } else {
      name += file_name[i];
    }
  }
  return EncodeFileName(name) == file_name ? name : std::string();
}

bool IsShortenedFileName(std::string_view file_name) {
  if (file_name.size() < kHashSuffix) return false;
  const std::string_view suffix = file_name.substr(file_name.size() - kHashSuffix);
  if (suffix.front() != '~') return false;
  for (const char c : suffix.substr(1)) {
    if (!IsHexDigit(c) || (c >= 'A' && c <= 'F')) return false;
  }
  return true;
}

}  // namespace ndlfs::model
