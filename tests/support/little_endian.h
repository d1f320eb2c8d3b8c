// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace ndlfs::test {

// The lowest `bytes` bytes of `value`, the lowest first.
inline std::string LittleEndian(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

}  // namespace ndlfs::test
