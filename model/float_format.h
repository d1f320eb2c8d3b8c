// SPDX-License-Identifier: MIT
//
// Encodes and decodes the floats that C++ has no type for: float16, bfloat16,
// and the floats of 4, 6 and 8 bits as the ml_dtypes registry defines them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ndlfs::model {

struct FloatFormat {
  // Which codes stand for infinity and NaN.
  enum class Specials : uint8_t {
    kIeee,         // the highest exponent is infinity and NaN
    kTopNan,       // "fn": NaN has all bits set; no infinity
    kNegZeroNan,   // "fnuz": the code of -0 is NaN; no infinity, no -0
    kNone,         // "fn" of 4 and 6 bits: every code is a number
    kPowersOfTwo,  // "e8m0fnu": no sign, no zero; the highest code is NaN
  };

  std::string_view keyword;
  int exponent_bits;
  int mantissa_bits;
  int bias;
  Specials specials;

  // The number that `code` stands for. Ignores bits above those of the format.
  double Decode(uint32_t code) const;
  // The code of the number nearest to `value`, ties to even. Nullopt if `value`
  // is out of range, or is a NaN or an infinity that the format does not have.
  std::optional<uint32_t> Encode(double value) const;
};

// The format of a keyword; null for all other keywords, including float32 and
// float64.
const FloatFormat* FindFloatFormat(std::string_view keyword);

}  // namespace ndlfs::model
