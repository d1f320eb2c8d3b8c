// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ndlfs::backends {

// Views are little-endian, and ndlfs copies elements to them as they lie in memory.
static_assert(std::endian::native == std::endian::little);

template <typename T>
T LoadLittle(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <typename T>
void StoreLittle(T value, std::byte* to) {
  std::memcpy(to, &value, sizeof(T));
}

template <std::unsigned_integral T>
T LoadBig(const std::byte* from) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value = static_cast<T>(value << 8 | std::to_integer<T>(from[i]));
  }
  return value;
}

}  // namespace ndlfs::backends
