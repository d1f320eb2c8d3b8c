// SPDX-License-Identifier: MIT
#include "fs/view/base/text_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "model/value.h"
#include "tests/support/memory_hierarchy.h"

namespace ndlfs::fs {
namespace {

using model::Charset;
using model::Datatype;
using model::TextPadding;
using test::Raw;

std::string Line(const Datatype& type, const std::string& element) {
  const auto layout = TextLayout::Make(type);
  if (!layout || element.size() != type.size()) return "no text";
  std::string line(layout->line_size() + 1, '#');
  layout->Format(backends::AsBytes(element), line.data());
  EXPECT_EQ(line.back(), '#') << "beyond the line";
  line.pop_back();
  return line;
}

TEST(TextLayoutTest, IntegersAreRightAlignedInTheWidthOfTheirLongest) {
  EXPECT_EQ(Line(Datatype::Integer(1, true), Raw(int8_t{-128})), "-128\n");
  EXPECT_EQ(Line(Datatype::Integer(1, true), Raw(int8_t{7})), "   7\n");
  EXPECT_EQ(Line(Datatype::Integer(1, false), Raw(uint8_t{255})), "255\n");
  EXPECT_EQ(Line(Datatype::Integer(2, true), Raw(int16_t{-32768})), "-32768\n");
  EXPECT_EQ(Line(Datatype::Integer(2, false), Raw(uint16_t{65535})), "65535\n");
  EXPECT_EQ(Line(Datatype::Integer(4, true), Raw(std::numeric_limits<int32_t>::min())),
            "-2147483648\n");
  EXPECT_EQ(Line(Datatype::Integer(4, false), Raw(uint32_t{42})), "        42\n");
  EXPECT_EQ(Line(Datatype::Integer(8, true), Raw(std::numeric_limits<int64_t>::min())),
            "-9223372036854775808\n");
  EXPECT_EQ(Line(Datatype::Integer(8, false), Raw(~uint64_t{0})), "18446744073709551615\n");
  EXPECT_EQ(Line(Datatype::Time({"ns", 1, false}), Raw(int64_t{-5})), "                  -5\n");
}

TEST(TextLayoutTest, FloatsAreShortestAndHaveAPoint) {
  const auto f4 = [](float value) { return Line(Datatype::Float32(), Raw(value)); };
  EXPECT_EQ(f4(0.1f), "            0.1\n");
  EXPECT_EQ(f4(1), "            1.0\n");
  EXPECT_EQ(f4(-0.0f), "           -0.0\n");
  EXPECT_EQ(f4(1e20f), "        1.0e+20\n");
  EXPECT_EQ(f4(std::numeric_limits<float>::quiet_NaN()), "            nan\n");
  EXPECT_EQ(f4(-std::numeric_limits<float>::quiet_NaN()), "            nan\n");
  EXPECT_EQ(f4(-std::numeric_limits<float>::infinity()), "           -inf\n");
  EXPECT_EQ(f4(-1.17549435e-38f), " -1.1754944e-38\n");
  EXPECT_EQ(f4(16777216), "     16777216.0\n");
  EXPECT_EQ(f4(12345678901234.0F), "  1.2345679e+13\n");
  const auto f8 = [](double value) { return Line(Datatype::Float64(), Raw(value)); };
  EXPECT_EQ(f8(0.1), "                     0.1\n");
  EXPECT_EQ(f8(-2.2250738585072014e-308), "-2.2250738585072014e-308\n");
  EXPECT_EQ(f8(1234567890123456800000.0), "  1.2345678901234568e+21\n");
}

template <typename Float, typename Bits>
void RandomFloatsReadBack(const Datatype& type, size_t width) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 200'000; ++i) {
    // All bit patterns, and whole numbers of any length.
    const auto bits = static_cast<Bits>(random());
    Float value;
    std::memcpy(&value, &bits, sizeof(value));
    if (i % 2)
      value = std::trunc(std::pow(Float{10}, static_cast<int>(random() % 30)) *
                         static_cast<Float>(random() % 1000) / 37);
    const std::string line = Line(type, Raw(value));
    ASSERT_EQ(line.size(), width + 1);
    const Float back = sizeof(Float) == 4
                           ? static_cast<Float>(std::strtof(line.c_str(), nullptr))
                           : static_cast<Float>(std::strtod(line.c_str(), nullptr));
    ASSERT_TRUE(back == value || (std::isnan(back) && std::isnan(value))) << line;
    ASSERT_TRUE(!std::isfinite(value) || line.find('.') != line.npos) << line;
  }
}
TEST(TextLayoutTest, AnyFloat32ReadsBack) {
  RandomFloatsReadBack<float, uint32_t>(Datatype::Float32(), 15);
}
TEST(TextLayoutTest, AnyFloat64ReadsBack) {
  RandomFloatsReadBack<double, uint64_t>(Datatype::Float64(), 24);
}

TEST(TextLayoutTest, AllSmallFloatsFitAndReadBack) {
  for (const char* keyword : {"float16", "bfloat16"}) {
    const Datatype type = *Datatype::FromKeyword(keyword);
    for (uint32_t bits = 0; bits < 65536; bits += 7) {
      const std::string element = Raw(static_cast<uint16_t>(bits));
      const std::string line = Line(type, element);
      ASSERT_EQ(line.size(), 16u);
      ASSERT_TRUE(line[0] == ' ') << line;  // no text was cut
      const double value = *model::DecodeElement(type, backends::AsBytes(element))->real();
      const double back = std::strtod(line.c_str(), nullptr);
      if (std::isfinite(value)) {
        ASSERT_EQ(model::RoundToFloat(type, back).value_or(1e99), value) << line;
      } else {
        ASSERT_EQ(std::isnan(value), std::isnan(back));
      }
    }
  }
  EXPECT_EQ(Line(*Datatype::FromKeyword("float8_e4m3"), "\x38"), "            1.0\n");
}

TEST(TextLayoutTest, EnumsAndBoolAreNumbersThatAwkReads) {
  const Datatype direction =
      Datatype::Enum(Datatype::Integer(1, true), {{"UP", 0}, {"SIDEWAYS", 1}});
  EXPECT_EQ(Line(direction, Raw(int8_t{0})), "   0\n");
  EXPECT_EQ(Line(direction, Raw(int8_t{1})), "   1\n");
  EXPECT_EQ(Line(direction, Raw(int8_t{-77})), " -77\n");
  EXPECT_EQ(Line(Datatype::Enum(Datatype::Integer(4, false), {{"A", 1}}), Raw(~uint32_t{0})),
            "4294967295\n");
  EXPECT_EQ(Line(Datatype::Enum(Datatype::Integer(2, true), {{"A", -300}}), Raw(int16_t{-300})),
            "  -300\n");
  EXPECT_EQ(Line(Datatype::Bool(), Raw(int8_t{1})), "   1\n");
  EXPECT_EQ(Line(Datatype::Bool(), Raw(int8_t{0})), "   0\n");
}

TEST(TextLayoutTest, TextIsLeftAligned) {
  EXPECT_EQ(Line(Datatype::FixedString(5, Charset::kAscii), std::string("abc\0\0", 5)),
            "abc  \n");
  EXPECT_EQ(Line(Datatype::FixedString(5, Charset::kAscii, TextPadding::kSpace), "abc  "),
            "abc  \n");
  EXPECT_EQ(Line(Datatype::FixedString(4, Charset::kUtf8), std::string("\u00e9t\0", 4)),
            "\u00e9t \n");
  EXPECT_EQ(Line(Datatype::FixedString(2, Charset::kLatin1), "\xe9t"), "\u00e9t \n");
  // Bytes that are no UTF-8 after all, beside such that are.
  EXPECT_EQ(Line(Datatype::FixedString(5, Charset::kUtf8), "\xe9\xc3\xa9t\xe9"), "?\u00e9t?\n");
  EXPECT_EQ(Line(Datatype::FixedString(1, Charset::kAscii), "\xe9"), "?\n");
  EXPECT_EQ(Line(Datatype::FixedString(12, Charset::kUtf32),
                 Raw(uint32_t{0x1F30A}) + Raw(uint32_t{'x'}) + Raw(uint32_t{0})),
            "\U0001F30Ax       \n");
  EXPECT_EQ(Line(Datatype::FixedString(8, Charset::kUtf32), Raw(0xFFFFFFFFu) + Raw(0xD800u)),
            "\uFFFD\uFFFD  \n");
  EXPECT_EQ(Line(Datatype::FixedString(0, Charset::kAscii), ""), "\n");
}

TEST(TextLayoutTest, TextCannotBreakTheLine) {
  EXPECT_EQ(Line(Datatype::FixedString(7, Charset::kAscii), std::string("a\nb\0c\x1b\x7f", 7)),
            "a?b?c??\n");
  EXPECT_EQ(Line(Datatype::FixedString(4, Charset::kUtf32), Raw(uint32_t{'\n'})), "?   \n");
}

TEST(TextLayoutTest, MembersAndItemsAreColumns) {
  const Datatype inner = Datatype::Compound(
      {{"t", Datatype::Bool(), 1}, {"u", Datatype::Integer(1, false), 3}}, 6);
  const Datatype type =
      Datatype::PackedCompound({{"a", Datatype::Array(Datatype::Integer(1, true), {2, 2})},
                                {"b", inner},
                                {"z", Datatype::Complex(8)}});
  EXPECT_EQ(Line(type, std::string("\1\2\3\xff"
                                   "-\1--"
                                   "--"
                                   "",
                                   4) +
                           "-"
                           "\1"
                           "-"
                           "\7"
                           "--" +
                           Raw(1.5f) + Raw(-2.0f)),
            "   1    2    3   -1    1   7             1.5            -2.0\n");
  EXPECT_EQ(Line(Datatype::Array(Datatype::Integer(1, false), {3}), "\1\2\3"), "  1   2   3\n");
}

TEST(TextLayoutTest, OtherTypesHaveNone) {
  const Datatype i1 = Datatype::Integer(1, true);
  const auto has = [](const Datatype& type) { return TextLayout::Make(type).has_value(); };
  EXPECT_FALSE(has(Datatype::Opaque(4)));
  EXPECT_FALSE(has(Datatype::String()));
  EXPECT_FALSE(has(Datatype::ObjectRef()));
  EXPECT_FALSE(has(Datatype::Vlen(i1)));
  EXPECT_FALSE(has(Datatype::Float("float128", 16)));
  EXPECT_FALSE(has(Datatype::PackedCompound({{"a", i1}, {"b", Datatype::Opaque(1)}})));
  EXPECT_FALSE(has(Datatype::Compound({}, 4)));
  EXPECT_FALSE(has(Datatype::Array(i1, {0})));
  EXPECT_FALSE(has(Datatype::Compound({{"a", i1, 0}}, (1 << 20) + 1)));
  EXPECT_TRUE(has(Datatype::Compound({{"a", i1, 0}}, 1 << 20)));
}

TEST(TextLayoutTest, LinesAreAtMost64KiB) {
  const Datatype i1 = Datatype::Integer(1, true);  // five bytes a column
  EXPECT_TRUE(TextLayout::Make(Datatype::Array(i1, {65536 / 5})));
  EXPECT_FALSE(TextLayout::Make(Datatype::Array(i1, {65536 / 5 + 1})));
  EXPECT_FALSE(TextLayout::Make(Datatype::Array(i1, {uint64_t{1} << 19})));
  EXPECT_TRUE(TextLayout::Make(Datatype::FixedString(65535, Charset::kAscii)));
  EXPECT_FALSE(TextLayout::Make(Datatype::FixedString(65536, Charset::kAscii)));
  EXPECT_FALSE(TextLayout::Make(Datatype::FixedString(40000, Charset::kLatin1)));
}

TEST(TextLayoutTest, TypeThatDoublesAtEachLevelIsGivenUp) {
  for (Datatype type : {Datatype::FixedString(0, Charset::kAscii), Datatype::Compound({}, 0),
                        Datatype::Array(Datatype::Integer(1, true), {0})}) {
    for (int depth = 2; depth < Datatype::kMaxDepth; ++depth) {
      type = Datatype::PackedCompound({{"left", type}, {"right", type}});
    }
    EXPECT_FALSE(TextLayout::Make(type));
  }
}

}  // namespace
}  // namespace ndlfs::fs
