// SPDX-License-Identifier: MIT
//
// Floating-point formats as HDF5 describes them, and the numbers of those that
// are wider than float64.
#pragma once

#include <cstddef>
#include <span>

namespace ndlfs::backends::hdf5 {

// The sign, exponent and mantissa of a floating-point format, in bits.
struct FloatFields {
  size_t bytes;
  size_t sign;
  size_t exponent;
  size_t exponent_bits;
  size_t mantissa;
  size_t mantissa_bits;
  size_t bias;
  bool is_implied;  // the first bit of the mantissa is not stored
  bool operator==(const FloatFields&) const = default;
};

// Whether ToFloat64() knows how to read numbers of the format: 16 bytes or
// less, and fields that lie inside of them.
bool IsReadable(const FloatFields& fields);

struct NearestFloat64 {
  double value;
  bool is_exact;  // true for infinities and NaN, too
};

// The float64 that is nearest to the number in `bytes` (little-endian, fields.bytes long), ties
// to even; an infinity if the number is too large. IsReadable() must be true.
NearestFloat64 ToFloat64(const FloatFields& fields, std::span<const std::byte> bytes);

}  // namespace ndlfs::backends::hdf5
