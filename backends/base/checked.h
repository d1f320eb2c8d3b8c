// SPDX-License-Identifier: MIT
//
// Arithmetic on sizes found in files. Every size is checked before use.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace ndlfs::backends {

inline std::optional<uint64_t> CheckedMultiply(uint64_t a, uint64_t b) {
  uint64_t product;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}
inline std::optional<uint64_t> CheckedAdd(uint64_t a, uint64_t b) {
  uint64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

// The product of `first` and all `factors`; nullopt if it overflows. A factor
// of 0 gives 0, even if the others overflow.
inline std::optional<uint64_t> CheckedProduct(std::span<const uint64_t> factors,
                                              uint64_t first = 1) {
  std::optional<uint64_t> product = first;
  bool zero = first == 0;
  for (const uint64_t factor : factors) {
    zero = zero || factor == 0;
    if (product) product = CheckedMultiply(*product, factor);
  }
  return zero ? 0 : product;
}

// The most bytes in a view; off_t and the kernel can address as many.
inline constexpr uint64_t kMaxViewSize = uint64_t{1} << 62;

}  // namespace ndlfs::backends
