// SPDX-License-Identifier: MIT
#include "model/float_format.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace ndlfs::model {
namespace {

using Specials = FloatFormat::Specials;

constexpr std::array kFormats = {
    FloatFormat{"float16", 5, 10, 15, Specials::kIeee},
    FloatFormat{"bfloat16", 8, 7, 127, Specials::kIeee},
    FloatFormat{"float4_e2m1fn", 2, 1, 1, Specials::kNone},
    FloatFormat{"float6_e2m3fn", 2, 3, 1, Specials::kNone},
    FloatFormat{"float6_e3m2fn", 3, 2, 3, Specials::kNone},
    FloatFormat{"float8_e3m4", 3, 4, 3, Specials::kIeee},
    FloatFormat{"float8_e4m3", 4, 3, 7, Specials::kIeee},
    FloatFormat{"float8_e4m3b11fnuz", 4, 3, 11, Specials::kNegZeroNan},
    FloatFormat{"float8_e4m3fn", 4, 3, 7, Specials::kTopNan},
    FloatFormat{"float8_e4m3fnuz", 4, 3, 8, Specials::kNegZeroNan},
    FloatFormat{"float8_e5m2", 5, 2, 15, Specials::kIeee},
    FloatFormat{"float8_e5m2fnuz", 5, 2, 16, Specials::kNegZeroNan},
    FloatFormat{"float8_e8m0fnu", 8, 0, 127, Specials::kPowersOfTwo},
};

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The number of codes, not counting the sign bit.
uint32_t Magnitudes(const FloatFormat& format) {
  return uint32_t{1} << (format.exponent_bits + format.mantissa_bits);
}

// The first code of the highest exponent: infinity in IEEE formats.
uint32_t TopExponent(const FloatFormat& format) {
  return Magnitudes(format) - (uint32_t{1} << format.mantissa_bits);
}

uint32_t LargestFinite(const FloatFormat& format) {
  switch (format.specials) {
    case Specials::kIeee:
      return TopExponent(format) - 1;
    case Specials::kTopNan:
    case Specials::kPowersOfTwo:
      return Magnitudes(format) - 2;
    case Specials::kNegZeroNan:
    case Specials::kNone:
      break;
  }
  return Magnitudes(format) - 1;
}

std::optional<uint32_t> NanCode(const FloatFormat& format) {
  switch (format.specials) {
    case Specials::kIeee:  // quiet
      return TopExponent(format) | uint32_t{1} << (format.mantissa_bits - 1);
    case Specials::kTopNan:
    case Specials::kPowersOfTwo:
      return Magnitudes(format) - 1;
    case Specials::kNegZeroNan:
      return Magnitudes(format);
    case Specials::kNone:
      break;
  }
  return std::nullopt;
}

// Conversions keep the sign of an IEEE NaN, and as much of its fraction as fits.
constexpr int kDoubleFraction = 52;

double DecodeIeeeNan(const FloatFormat& format, uint32_t magnitude, bool negative) {
  const uint64_t fraction = magnitude & ((uint32_t{1} << format.mantissa_bits) - 1);
  return std::bit_cast<double>(uint64_t{negative} << 63 | uint64_t{0x7ff} << kDoubleFraction |
                               fraction << (kDoubleFraction - format.mantissa_bits));
}

uint32_t EncodeIeeeNan(const FloatFormat& format, double value) {
  const auto bits = std::bit_cast<uint64_t>(value) & ((uint64_t{1} << kDoubleFraction) - 1);
  const auto fraction = static_cast<uint32_t>(bits >> (kDoubleFraction - format.mantissa_bits));
  const uint32_t sign = std::signbit(value) ? Magnitudes(format) : 0;
  return sign | (fraction == 0 ? *NanCode(format) : TopExponent(format) | fraction);
}

// Decodes a magnitude that is neither infinity nor NaN.
double DecodeMagnitude(const FloatFormat& format, uint32_t magnitude) {
  const int exponent = static_cast<int>(magnitude >> format.mantissa_bits);
  const uint32_t one = uint32_t{1} << format.mantissa_bits;
  const uint32_t fraction = magnitude & (one - 1);
  const int unit = -format.bias - format.mantissa_bits;  // of the last bit, at exponent 0
  if (format.specials == Specials::kPowersOfTwo) return std::ldexp(1, exponent + unit);
  if (exponent == 0) return std::ldexp(fraction, 1 + unit);
  return std::ldexp(one + fraction, exponent + unit);
}

// The code of a positive finite number. Rounding up the largest fraction
// carries into the exponent, which gives the right code.
uint32_t EncodeMagnitude(const FloatFormat& format, double value) {
  const bool has_subnormals = format.specials != Specials::kPowersOfTwo;
  const int lowest = has_subnormals ? 1 : 0;
  const int exponent = std::max(std::ilogb(value) + format.bias, lowest);
  const double units =
      std::nearbyint(std::ldexp(value, format.mantissa_bits + format.bias - exponent));
  return (static_cast<uint32_t>(exponent - 1) << format.mantissa_bits) +
         static_cast<uint32_t>(units);
}

}  // namespace

double FloatFormat::Decode(uint32_t code) const {
  const uint32_t magnitude = code & (Magnitudes(*this) - 1);
  const bool negative = specials != Specials::kPowersOfTwo && (code & Magnitudes(*this)) != 0;
  if (specials == Specials::kNegZeroNan && negative && magnitude == 0) return kNan;
  if (magnitude > LargestFinite(*this)) {
    if (specials != Specials::kIeee) return kNan;
    if (magnitude != TopExponent(*this)) return DecodeIeeeNan(*this, magnitude, negative);
    return negative ? -kInfinity : kInfinity;
  }
  const double value = DecodeMagnitude(*this, magnitude);
  return negative ? -value : value;
}

std::optional<uint32_t> FloatFormat::Encode(double value) const {
  if (std::isnan(value)) {
    return specials == Specials::kIeee ? EncodeIeeeNan(*this, value) : NanCode(*this);
  }
  const bool negative = std::signbit(value);
  if (specials == Specials::kPowersOfTwo && (negative || value == 0)) return std::nullopt;
  const uint32_t sign = negative ? Magnitudes(*this) : 0;
  if (std::isinf(value)) {
    if (specials != Specials::kIeee) return std::nullopt;
    return TopExponent(*this) | sign;
  }
  const uint32_t magnitude = value == 0 ? 0 : EncodeMagnitude(*this, std::fabs(value));
  if (magnitude > LargestFinite(*this)) return std::nullopt;
  if (magnitude == 0 && specials == Specials::kNegZeroNan) return 0;
  return magnitude | sign;
}

const FloatFormat* FindFloatFormat(std::string_view keyword) {
  for (const FloatFormat& format : kFormats) {
    if (format.keyword == keyword) return &format;
  }
  return nullptr;
}

}  // namespace ndlfs::model
