// SPDX-License-Identifier: MIT
#include "backends/format/icechunk/object_id.h"

namespace ndlfs::backends::icechunk {
namespace {

constexpr std::string_view kDigits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
constexpr unsigned kBitsPerDigit = 5;

}  // namespace

std::string IdText(std::span<const uint8_t> id) {
  std::string text;
  uint32_t bits = 0;
  unsigned count = 0;
  for (const uint8_t byte : id) {
    bits = bits << 8 | byte;
    count += 8;
    while (count >= kBitsPerDigit) {
      count -= kBitsPerDigit;
      text += kDigits[bits >> count & 31];
    }
    bits &= (1U << count) - 1;
  }
  if (count != 0) text += kDigits[bits << (kBitsPerDigit - count) & 31];
  return text;
}

model::Result<ObjectId> ParseId(std::string_view text) {
  ObjectId id{};
  const auto fail = [&] { return model::BadInput("{} is no id", model::Quote(text)); };
  if (text.size() != (id.size() * 8 + kBitsPerDigit - 1) / kBitsPerDigit) return fail();
  uint32_t bits = 0;
  unsigned count = 0;
  size_t at = 0;
  for (const char c : text) {
    const size_t digit = kDigits.find(c);
    if (digit == kDigits.npos) return fail();
    bits = bits << kBitsPerDigit | static_cast<uint32_t>(digit);
    count += kBitsPerDigit;
    if (count < 8) continue;
    count -= 8;
    id[at++] = static_cast<uint8_t>(bits >> count);
    bits &= (1U << count) - 1;
  }
  if (bits != 0) return fail();
  return id;
}

}  // namespace ndlfs::backends::icechunk
