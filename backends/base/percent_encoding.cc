// SPDX-License-Identifier: MIT
#include "backends/base/percent_encoding.h"

#include <fmt/format.h>

#include <cctype>

namespace ndlfs::backends {
namespace {

bool IsUnreserved(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.' ||
         c == '~';
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// The byte that "%XX" at `i` stands for; nullopt if there is none.
std::optional<char> EncodedByteAt(std::string_view text, size_t i) {
  if (text[i] != '%' || i + 2 >= text.size()) return std::nullopt;
  const int high = HexDigit(text[i + 1]);
  const int low = HexDigit(text[i + 2]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<char>(high * 16 + low);
}

// nullopt for another '%', unless `keeps_others`.
std::optional<std::string> Decode(std::string_view text, bool keeps_others) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = EncodedByteAt(text, i);
    if (!byte && text[i] == '%' && !keeps_others) return std::nullopt;
    decoded += byte.value_or(text[i]);
    if (byte) i += 2;
  }
  return decoded;
}

}  // namespace

std::string PercentEncode(std::string_view text, bool keep_slash) {
  std::string encoded;
  for (const char c : text) {
    if (IsUnreserved(c) || (c == '/' && keep_slash)) {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

std::optional<std::string> PercentDecode(std::string_view text) { return Decode(text, false); }

std::string PercentDecodeLeniently(std::string_view text) { return *Decode(text, true); }

}  // namespace ndlfs::backends
