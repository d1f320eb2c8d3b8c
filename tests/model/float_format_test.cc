// SPDX-License-Identifier: MIT
#include "model/float_format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ndlfs::model {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Golden {
  const char* keyword;
  double largest;
  double smallest;  // positive
  bool has_infinity;
  bool has_nan;
  bool has_negative_zero;
};

// From the table of the ml_dtypes registry.
constexpr Golden kGoldens[] = {
    {"float16", 65504, 0x1p-24, true, true, true},
    {"bfloat16", 0x1.fep127, 0x1p-133, true, true, true},
    {"float4_e2m1fn", 6, 0.5, false, false, true},
    {"float6_e2m3fn", 7.5, 0.125, false, false, true},
    {"float6_e3m2fn", 28, 0.0625, false, false, true},
    {"float8_e3m4", 15.5, 0x1p-6, true, true, true},
    {"float8_e4m3", 240, 0x1p-9, true, true, true},
    {"float8_e4m3b11fnuz", 30, 0x1p-13, false, true, false},
    {"float8_e4m3fn", 448, 0x1p-9, false, true, true},
    {"float8_e4m3fnuz", 240, 0x1p-10, false, true, false},
    {"float8_e5m2", 57344, 0x1p-16, true, true, true},
    {"float8_e5m2fnuz", 57344, 0x1p-17, false, true, false},
    {"float8_e8m0fnu", 0x1p127, 0x1p-127, false, true, false},
};

class FloatFormatTest : public testing::TestWithParam<Golden> {
 protected:
  const FloatFormat& format_ = *FindFloatFormat(GetParam().keyword);
  uint32_t codes() const {
    const bool sign = format_.specials != FloatFormat::Specials::kPowersOfTwo;
    return uint32_t{1} << (format_.exponent_bits + format_.mantissa_bits + (sign ? 1 : 0));
  }
};

TEST_P(FloatFormatTest, HasTheRangeAndSpecialsOfTheRegistry) {
  double largest = 0;
  double smallest = kInfinity;
  bool infinity = false;
  bool nan = false;
  bool negative_zero = false;
  for (uint32_t code = 0; code < codes(); ++code) {
    const double value = format_.Decode(code);
    infinity |= std::isinf(value);
    nan |= std::isnan(value);
    negative_zero |= value == 0 && std::signbit(value);
    if (!std::isfinite(value) || value <= 0) continue;
    largest = std::max(largest, value);
    smallest = std::min(smallest, value);
  }
  EXPECT_EQ(largest, GetParam().largest);
  EXPECT_EQ(smallest, GetParam().smallest);
  EXPECT_EQ(infinity, GetParam().has_infinity);
  EXPECT_EQ(nan, GetParam().has_nan);
  EXPECT_EQ(negative_zero, GetParam().has_negative_zero);
}

TEST_P(FloatFormatTest, EncodesWhatItDecodes) {
  for (uint32_t code = 0; code < codes(); ++code) {
    const double value = format_.Decode(code);
    const auto back = format_.Encode(value);
    ASSERT_TRUE(back.has_value()) << code;
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(format_.Decode(*back)));
    } else {
      EXPECT_EQ(*back, code) << value;
    }
  }
}

TEST_P(FloatFormatTest, RoundsToTheNearestAndTiesToEven) {
  for (uint32_t code = 0; code + 1 < codes(); ++code) {
    const double low = format_.Decode(code);
    const double high = format_.Decode(code + 1);
    if (!std::isfinite(low) || !std::isfinite(high) || low < 0 || std::signbit(high)) continue;
    const double middle = (low + high) / 2;
    EXPECT_EQ(format_.Encode(std::nextafter(middle, low)), code);
    EXPECT_EQ(format_.Encode(std::nextafter(middle, high)), code + 1);
    if (format_.mantissa_bits == 0) continue;  // its one digit has no even neighbour
    EXPECT_EQ(format_.Encode(middle), code % 2 == 0 ? code : code + 1);
  }
}

TEST_P(FloatFormatTest, RefusesWhatItHasNoCodeFor) {
  EXPECT_EQ(format_.Encode(2 * GetParam().largest), std::nullopt);
  EXPECT_EQ(format_.Encode(1e300), std::nullopt);
  EXPECT_EQ(format_.Encode(kInfinity).has_value(), GetParam().has_infinity);
  EXPECT_EQ(format_.Encode(kNan).has_value(), GetParam().has_nan);
}

INSTANTIATE_TEST_SUITE_P(All, FloatFormatTest, testing::ValuesIn(kGoldens),
                         [](const auto& info) { return std::string(info.param.keyword); });

TEST(FloatFormatGoldenTest, DecodesWhatNumPyWrites) {
  const FloatFormat& half = *FindFloatFormat("float16");
  EXPECT_EQ(half.Decode(0x3555), 0.333251953125);
  EXPECT_EQ(half.Decode(0x0001), 5.960464477539063e-08);
  EXPECT_EQ(half.Decode(0x0400), 6.103515625e-05);
  EXPECT_EQ(half.Decode(0xc000), -2.0);
  EXPECT_EQ(half.Encode(1.0 / 3), 0x3555u);
}

TEST(FloatFormatGoldenTest, LeavesTheFloatsOfCppToCpp) {
  EXPECT_EQ(FindFloatFormat("float32"), nullptr);
  EXPECT_EQ(FindFloatFormat("float64"), nullptr);
  EXPECT_EQ(FindFloatFormat("float128"), nullptr);
}

}  // namespace
}  // namespace ndlfs::model
