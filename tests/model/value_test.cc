// SPDX-License-Identifier: MIT
#include "model/value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace ndlfs::model {
namespace {

using ::testing::HasSubstr;

Blob Hex(std::string_view digits) {
  Blob bytes;
  for (size_t i = 0; i < digits.size(); i += 2) {
    bytes.push_back(std::byte(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

Blob Bytes(std::string_view text) {
  Blob bytes;
  for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
  return bytes;
}

void ExpectBoth(const Datatype& type, const Value& value, const Blob& bytes) {
  ASSERT_EQ(type.size(), bytes.size());
  const auto decoded = DecodeElement(type, bytes);
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(*decoded, value);
  Blob encoded(bytes.size(), std::byte{0xEE});
  const auto done = EncodeElement(type, value, encoded);
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(encoded, bytes);
}

std::string Refusal(const Datatype& type, const Value& value) {
  Blob out(type.size());
  const auto done = EncodeElement(type, value, out);
  return done ? "accepted" : done.error().message();
}

constexpr auto kBig = ByteOrder::kBig;

TEST(ElementTest, Integers) {
  ExpectBoth(Datatype::Integer(1, true), -128, Hex("80"));
  ExpectBoth(Datatype::Integer(1, false), 255, Hex("ff"));
  ExpectBoth(Datatype::Integer(2, true), -2, Hex("feff"));
  ExpectBoth(Datatype::Integer(2, true, kBig), -2, Hex("fffe"));
  ExpectBoth(Datatype::Integer(4, false), 0x01020304, Hex("04030201"));
  ExpectBoth(Datatype::Integer(8, false), UINT64_MAX, Hex("ffffffffffffffff"));
  ExpectBoth(Datatype::Integer(8, true, kBig), INT64_MIN, Hex("8000000000000000"));
}

TEST(ElementTest, TimesAreIntegersWithNaTTheSmallest) {
  ExpectBoth(Datatype::Time({"ns", 1, false}), INT64_MIN, Hex("0000000000000080"));
  ExpectBoth(Datatype::Time({"ns", 1, false}), 1577836800000000000, Hex("00008ab9359ae515"));
}

TEST(ElementTest, Floats) {
  ExpectBoth(Datatype::Float32(), 0.5, Hex("0000003f"));
  ExpectBoth(Datatype::Float64(kBig), -1.0, Hex("bff0000000000000"));
  ExpectBoth(Datatype::Float("float16", 2), 0.333251953125, Hex("5535"));
  ExpectBoth(Datatype::Float("bfloat16", 2, kBig), 1.0, Hex("3f80"));
  ExpectBoth(Datatype::Float("float8_e4m3fn", 1), 448.0, Hex("7e"));
  ExpectBoth(Datatype::Float("float128", 16), Hex("000102030405060708090a0b0c0d0e0f"),
             Hex("000102030405060708090a0b0c0d0e0f"));
}

TEST(ElementTest, BoolIsAnEnum) {
  ExpectBoth(Datatype::Bool(), "TRUE", Hex("01"));
  ExpectBoth(Datatype::Bool(), "FALSE", Hex("00"));
  ExpectBoth(Datatype::Bool(), 2, Hex("02"));  // no constant, but it is what is stored
}

TEST(ElementTest, EnumOfBigEndianBase) {
  const auto type = Datatype::Enum(Datatype::Integer(2, false, kBig), {{"A", 1}, {"B", 500}});
  ExpectBoth(type, "B", Hex("01f4"));
  EXPECT_EQ(Refusal(type, "C"), R"("C" is not a constant of the enum)");
  EXPECT_EQ(Refusal(type, 70000), "70000 does not fit uint16 (0 to 65535)");
}

TEST(ElementTest, ComplexIsACompound) {
  ExpectBoth(Datatype::Complex(8, kBig), Value::Map{{"r", 1.0}, {"i", 2.0}},
             Hex("3f80000040000000"));
}

TEST(ElementTest, FixedText) {
  ExpectBoth(Datatype::FixedString(4, Charset::kAscii), "ab", Hex("61620000"));
  ExpectBoth(Datatype::FixedString(4, Charset::kAscii), "abcd", Hex("61626364"));
  ExpectBoth(Datatype::FixedString(4, Charset::kAscii, TextPadding::kSpace), "ab",
             Bytes("ab  "));
  ExpectBoth(Datatype::FixedString(3, Charset::kUtf8), "é", Hex("c3a900"));
  ExpectBoth(Datatype::FixedString(3, Charset::kLatin1), "é", Hex("e90000"));
  ExpectBoth(Datatype::FixedString(4, Charset::kAscii), std::string("a\0b", 3),
             Hex("61006200"));
  ExpectBoth(Datatype::FixedString(0, Charset::kAscii), "", Hex(""));
  // np.array(['aé😀'], '>U4')
  ExpectBoth(Datatype::FixedString(16, Charset::kUtf32, TextPadding::kNull, kBig), "aé😀",
             Hex("00000061000000e90001f60000000000"));
  ExpectBoth(Datatype::FixedString(8, Charset::kUtf32, TextPadding::kSpace), "a",
             Hex("6100000020000000"));
}

TEST(ElementTest, TextThatIsNoUtf8IsLatin1) {
  EXPECT_EQ(*DecodeElement(Datatype::FixedString(2, Charset::kUtf8), Hex("e974")), Value("ét"));
  EXPECT_EQ(*DecodeElement(Datatype::FixedString(2, Charset::kAscii), Hex("c3a9")), Value("é"));
  EXPECT_EQ(*DecodeElement(Datatype::FixedString(8, Charset::kUtf32), Hex("00d8000061000000")),
            Value("\xEF\xBF\xBD"
                  "a"));
}

TEST(ElementTest, NestedCompoundWithPaddingAndBigEndianParts) {
  // np.dtype([('s','S4'), ('n','>i2'), ('p',[('x','>f8'), ('y','u1')])]), one byte of
  // padding after n and two at the end.
  const auto inner = Datatype::PackedCompound(
      {{"x", Datatype::Float64(kBig)}, {"y", Datatype::Integer(1, false)}});
  const auto type = Datatype::Compound({{"s", Datatype::FixedString(4, Charset::kAscii), 0},
                                        {"n", Datatype::Integer(2, true, kBig), 4},
                                        {"p", inner, 7}},
                                       18);
  const Value value =
      Value::Map{{"s", "ab"}, {"n", 1}, {"p", Value::Map{{"x", 2.5}, {"y", 3}}}};
  ExpectBoth(type, value, Hex("616200000001004004000000000000030000"));
}

TEST(ElementTest, ArraysNestByShape) {
  const auto type = Datatype::Array(Datatype::Integer(1, false), {2, 3});
  ExpectBoth(type, Value::List{Value::List{1, 2, 3}, Value::List{4, 5, 6}},
             Hex("010203040506"));
  ExpectBoth(Datatype::Array(Datatype::Integer(1, false), {}), 7, Hex("07"));
  ExpectBoth(Datatype::Array(Datatype::Integer(1, false), {2, 0}),
             Value::List{Value::List{}, Value::List{}}, Hex(""));
}

TEST(ElementTest, OpaqueBytesStayBytes) {
  ExpectBoth(Datatype::Opaque(3, "image/png"), Hex("00ff10"), Hex("00ff10"));
}

TEST(ElementTest, RefusesMoreThanAMillionParts) {
  const auto huge = Datatype::Array(Datatype::Opaque(0), {uint64_t{1} << 40});
  EXPECT_EQ(DecodeElement(huge, {}).error().message(),
            "an element of more than 1000000 values");
  const auto hollow = Datatype::Array(Datatype::Integer(8, true), {1 << 15, 1 << 15, 0});
  EXPECT_EQ(DecodeElement(hollow, {}).error().code(), ErrorCode::kLimit);
}

TEST(ElementTest, RefusesElementsWithoutFixedSize) {
  EXPECT_EQ(DecodeElement(Datatype::String(), {}).error().message(),
            "string has no fixed size");
  EXPECT_EQ(DecodeElement(Datatype::Vlen(Datatype::Float32()), {}).error().code(),
            ErrorCode::kInternal);
  EXPECT_EQ(DecodeElement(Datatype::Float32(), Hex("00")).error().message(),
            "an element of 4 bytes in 1");
  EXPECT_EQ(Refusal(Datatype::ObjectRef(), "/a"), "objref has no fixed size");
}

TEST(ElementTest, RefusesMembersOutsideOfTheElement) {
  const auto type = Datatype::Compound({{"x", Datatype::Float32(), 2}}, 4);
  EXPECT_EQ(DecodeElement(type, Hex("00000000")).error().message(),
            R"(member "x" lies outside of its element)");
  EXPECT_THAT(Refusal(type, Value::Map{{"x", 1.0}}), HasSubstr("lies outside"));
}

TEST(EncodeElementTest, RefusesWhatDoesNotFit) {
  EXPECT_EQ(Refusal(Datatype::Integer(1, true), 300), "300 does not fit int8 (-128 to 127)");
  EXPECT_EQ(Refusal(Datatype::Integer(8, false), -1),
            "-1 does not fit uint64 (0 to 18446744073709551615)");
  EXPECT_EQ(Refusal(Datatype::Integer(4, true), 1.0), "expected an integer");
  EXPECT_EQ(Refusal(Datatype::Float32(), 1e300), "1e+300 does not fit float32");
  EXPECT_EQ(Refusal(Datatype::Float("float8_e4m3fn", 1), 500.0),
            "500.0 does not fit float8_e4m3fn");
  EXPECT_EQ(Refusal(Datatype::Float32(), "x"), "expected a number");
  EXPECT_EQ(Refusal(Datatype::FixedString(2, Charset::kUtf8), "abc"),
            R"("abc" takes 3 bytes, but the text has room for 2)");
  EXPECT_EQ(Refusal(Datatype::FixedString(4, Charset::kAscii), "é"), R"("é" is not ASCII)");
  EXPECT_EQ(Refusal(Datatype::FixedString(4, Charset::kLatin1), "€"), R"("€" is not Latin-1)");
  EXPECT_EQ(Refusal(Datatype::FixedString(4, Charset::kUtf8), 1), "expected text");
  EXPECT_EQ(Refusal(Datatype::Opaque(2), Hex("00")), "expected 2 bytes of opaque, found 1");
  EXPECT_EQ(Refusal(Datatype::Opaque(2), "ab"), "expected 2 bytes of binary");
}

TEST(EncodeElementTest, RefusesMembersThatDoNotMatch) {
  const auto type = Datatype::PackedCompound(
      {{"x", Datatype::Integer(1, true)}, {"y", Datatype::Integer(1, true)}});
  EXPECT_EQ(Refusal(type, Value::Map{{"x", 1}}), R"(member "y" is missing)");
  EXPECT_EQ(Refusal(type, Value::Map{{"x", 1}, {"y", 2}, {"z", 3}}),
            R"("z" is not a member of the compound)");
  EXPECT_EQ(Refusal(type, Value::Map{{"x", 1}, {"y", 2}, {"y", 3}}), "a member occurs twice");
  EXPECT_EQ(Refusal(type, Value::Map{{"x", 1}, {"y", 200}}),
            "y: 200 does not fit int8 (-128 to 127)");
  EXPECT_EQ(Refusal(type, 1), "expected a map of the members of a compound");
}

TEST(EncodeElementTest, RefusesListsOfAnotherShape) {
  const auto type = Datatype::Array(Datatype::Integer(1, true), {2});
  EXPECT_EQ(Refusal(type, Value::List{1}), "expected a list of 2 values, found 1");
  EXPECT_EQ(Refusal(type, 1), "expected a list of 2 values");
}

TEST(ValueTest, ComparesFloatsByTheirBits) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Value(nan), Value(-nan));
  EXPECT_FALSE(Value(0.0) == Value(-0.0));
  EXPECT_FALSE(Value(1.0) == Value(1));
  EXPECT_EQ(Value(Value::List{nan}), Value(Value::List{nan}));
}

TEST(FormatFloatTest, IsShortestAndNeverAnInteger) {
  EXPECT_EQ(FormatFloat(1.0), "1.0");
  EXPECT_EQ(FormatFloat(-0.0), "-0.0");
  EXPECT_EQ(FormatFloat(0.1), "0.1");
  EXPECT_EQ(FormatFloat(0.1f), "0.1");
  EXPECT_EQ(FormatFloat(9.96921e+36f), "9.96921e+36");
  EXPECT_EQ(FormatFloat(1e20), "1.0e+20");
  EXPECT_EQ(FormatFloat(1e20, false), "1e+20");
  EXPECT_EQ(FormatFloat(5e-324, false), "5e-324");
  EXPECT_EQ(FormatFloat(std::numeric_limits<double>::infinity()), ".inf");
  EXPECT_EQ(FormatFloat(-std::numeric_limits<double>::infinity()), "-.inf");
  EXPECT_EQ(FormatFloat(-std::numeric_limits<double>::infinity(), false), "-inf");
  EXPECT_EQ(FormatFloat(std::nan("")), ".nan");
  EXPECT_EQ(FormatFloat(std::nan(""), false), "nan");
}

TEST(FormatFloatTest, SmallFloatsAreAsShortAsNumPyWritesThem) {
  const auto half = Datatype::Float("float16", 2);
  EXPECT_EQ(FormatFloat(half, 0.333251953125), "0.3333");
  EXPECT_EQ(FormatFloat(half, 65504.0), "65500.0");
  EXPECT_EQ(FormatFloat(half, 0x1p-24, false), "6e-08");
  EXPECT_EQ(FormatFloat(half, 6.103515625e-05), "6.104e-05");
  EXPECT_EQ(FormatFloat(half, -0.0), "-0.0");
  EXPECT_EQ(FormatFloat(half, std::nan("")), ".nan");
  EXPECT_EQ(FormatFloat(Datatype::Float32(), double{0.1f}), "0.1");
  EXPECT_EQ(FormatFloat(Datatype::Float64(), 0.1), "0.1");
}

TEST(FormatFloatTest, ReadsBackToTheSameNumber) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 100000; ++i) {
    const double value = std::bit_cast<double>(random());
    if (std::isnan(value) || std::isinf(value)) continue;
    EXPECT_EQ(Value(std::strtod(FormatFloat(value).c_str(), nullptr)), Value(value));
  }
  for (const char* keyword : {"float16", "bfloat16"}) {
    const Datatype type = Datatype::Float(keyword, 2);
    for (uint32_t code = 0; code < 65536; ++code) {
      const Value value = *DecodeElement(
          type, Blob{static_cast<std::byte>(code), static_cast<std::byte>(code >> 8)});
      if (!std::isfinite(*value.real())) continue;
      const double read = std::strtod(FormatFloat(type, *value.real()).c_str(), nullptr);
      EXPECT_EQ(Value(*RoundToFloat(type, read)), value);
    }
  }
}

TEST(RoundToFloatTest, RefusesFloatsWithoutADouble) {
  EXPECT_EQ(RoundToFloat(Datatype::Float("float128", 16), 1).error().message(),
            "numbers of type float128");
}

TEST(FormatIntegerTest, Extremes) {
  EXPECT_EQ(FormatInteger(0), "0");
  EXPECT_EQ(FormatInteger(-1), "-1");
  EXPECT_EQ(FormatInteger(UINT64_MAX), "18446744073709551615");
  EXPECT_EQ(FormatInteger(INT64_MIN), "-9223372036854775808");
  const WideInt smallest = static_cast<WideInt>(1) << 126;
  EXPECT_EQ(FormatInteger(-smallest - smallest), "-170141183460469231731687303715884105728");
}

}  // namespace
}  // namespace ndlfs::model
