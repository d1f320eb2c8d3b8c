// SPDX-License-Identifier: MIT
#include "model/base64.h"

#include <yaml-cpp/binary.h>

#include <array>
#include <cstdint>

namespace ndlfs::model {
namespace {

constexpr uint8_t kNotInAlphabet = 0xff;

constexpr std::array<uint8_t, 256> MakeDigits() {
  std::array<uint8_t, 256> digits{};
  digits.fill(kNotInAlphabet);
  uint8_t value = 0;
  for (const char c :
       std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")) {
    digits[static_cast<unsigned char>(c)] = value++;
  }
  return digits;
}
constexpr std::array<uint8_t, 256> kDigits = MakeDigits();

}  // namespace

std::string EncodeBase64(std::span<const std::byte> bytes) {
  return YAML::EncodeBase64(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

std::optional<std::vector<std::byte>> DecodeBase64(std::string_view text) {
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  uint32_t bits = 0;  // the low `count` bits are still to be written
  int count = 0;
  for (const char c : text) {
    const uint8_t digit = kDigits[static_cast<unsigned char>(c)];
    if (digit == kNotInAlphabet) return std::nullopt;
    bits = bits << 6 | digit;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<std::byte>(bits >> count));
  }
  return bytes;
}

}  // namespace ndlfs::model
