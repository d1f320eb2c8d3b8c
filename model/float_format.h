// SPDX-License-Identifier: MIT
//
// The bits of the floats that C++ has no type for: float16, bfloat16, and the
// floats of 4, 6 and 8 bits as the ml_dtypes registry defines them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ndlfs::model {

struct FloatFormat {
  // What the codes mean that IEEE 754 spends on infinities and NaN.
  enum class Specials : uint8_t {
    kIeee,         // the highest exponent is infinity and NaN
    kTopNan,       // "fn": only all bits one is NaN, no infinity
    kNegZeroNan,   // "fnuz": the code of -0 is NaN, no infinity, no -0
    kNone,         // "fn" of 4 and 6 bits: all codes are numbers
    kPowersOfTwo,  // "e8m0fnu": no sign, no zero; the highest code is NaN
  };

  std::string_view keyword;
  int exponent_bits;
  int mantissa_bits;
  int bias;
  Specials specials;

  // The number that `code` stands for; bits above the format's are ignored.
  double Decode(uint32_t code) const;
  // The code of the number nearest to `value`, ties to even; nullopt if that
  // is out of range, or NaN or infinite where the format has no such code.
  std::optional<uint32_t> Encode(double value) const;
};

// Null for all other keywords, among them float32 and float64.
const FloatFormat* FindFloatFormat(std::string_view keyword);

}  // namespace ndlfs::model
