// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/wide_float.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace ndlfs::backends::hdf5 {
namespace {

__extension__ typedef unsigned __int128 Bits;

constexpr int kPrecision = std::numeric_limits<double>::digits;                  // 53
constexpr int64_t kMaxExponent = std::numeric_limits<double>::max_exponent - 1;  // 1023
constexpr int64_t kMinExponent = std::numeric_limits<double>::min_exponent - 1;  // -1022
// Exponents have to fit int64 with room to spare.
constexpr size_t kMaxExponentBits = 32;

Bits Load(std::span<const std::byte> bytes) {
  Bits bits = 0;
  for (size_t i = bytes.size(); i-- > 0;)
    bits = bits << 8 | std::to_integer<unsigned>(bytes[i]);
  return bits;
}

Bits Ones(size_t count) { return count == 128 ? ~Bits{0} : (Bits{1} << count) - 1; }

Bits Field(Bits bits, size_t first, size_t count) { return bits >> first & Ones(count); }

int BitLength(Bits bits) {
  const auto high = static_cast<uint64_t>(bits >> 64);
  return high != 0 ? 64 + std::bit_width(high) : std::bit_width(static_cast<uint64_t>(bits));
}

// The float64 nearest to `significand` * 2^`exponent`, ties to even.
NearestFloat64 Round(Bits significand, int64_t exponent) {
  if (significand == 0) return {0.0, true};
  const int length = BitLength(significand);
  const int64_t leading = exponent + length - 1;
  if (leading > kMaxExponent) return {std::numeric_limits<double>::infinity(), false};
  // Denormals have fewer digits, and what is far too small has none.
  const int64_t digits = kPrecision - std::max<int64_t>(0, kMinExponent - leading);
  if (digits < 0) return {0.0, false};
  const int64_t dropped = std::max<int64_t>(0, length - digits);
  Bits kept = dropped == 128 ? 0 : significand >> dropped;
  const Bits rest = significand & Ones(static_cast<size_t>(dropped));
  if (dropped > 0) {
    const Bits half = Bits{1} << (dropped - 1);
    if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
  }
  // Exact: `kept` has 53 bits at most, or is the power of two after them.
  const double value = std::ldexp(static_cast<double>(static_cast<uint64_t>(kept)),
                                  static_cast<int>(exponent + dropped));
  return {value, rest == 0 && std::isfinite(value)};
}

}  // namespace

bool IsReadable(const FloatFields& fields) {
  const size_t bits = 8 * fields.bytes;
  const auto lies_inside = [&](size_t first, size_t count) {
    return first < bits && count <= bits - first;
  };
  return fields.bytes <= sizeof(Bits) && lies_inside(fields.sign, 1) &&
         lies_inside(fields.exponent, fields.exponent_bits) &&
         lies_inside(fields.mantissa, fields.mantissa_bits) && fields.exponent_bits > 0 &&
         fields.exponent_bits <= kMaxExponentBits && fields.mantissa_bits > 0 &&
         fields.mantissa_bits < bits && fields.bias <= UINT32_MAX;
}

NearestFloat64 ToFloat64(const FloatFields& fields, std::span<const std::byte> bytes) {
  const Bits bits = Load(bytes);
  const bool is_negative = Field(bits, fields.sign, 1) != 0;
  const auto exponent =
      static_cast<int64_t>(Field(bits, fields.exponent, fields.exponent_bits));
  Bits significand = Field(bits, fields.mantissa, fields.mantissa_bits);
  const bool is_implied = fields.is_implied;
  // Without an implied bit the highest one of the mantissa counts as one.
  const size_t fraction_bits = fields.mantissa_bits - (is_implied ? 0 : 1);
  NearestFloat64 nearest{};
  if (exponent == static_cast<int64_t>(Ones(fields.exponent_bits))) {
    const bool is_infinite = Field(significand, 0, fraction_bits) == 0;
    nearest = {is_infinite ? std::numeric_limits<double>::infinity()
                           : std::numeric_limits<double>::quiet_NaN(),
               true};
  } else {
    if (is_implied && exponent != 0) significand |= Bits{1} << fraction_bits;
    nearest =
        Round(significand, std::max<int64_t>(exponent, 1) - static_cast<int64_t>(fields.bias) -
                               static_cast<int64_t>(fraction_bits));
  }
  nearest.value = std::copysign(nearest.value, is_negative ? -1.0 : 1.0);
  return nearest;
}

}  // namespace ndlfs::backends::hdf5
