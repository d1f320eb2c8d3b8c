// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "model/ndl/yaml_text.h"

namespace ndlfs::model {
namespace {

TEST(YamlScalarTest, Integers) {
  EXPECT_EQ(ParseYamlInteger("0"), WideInt{0});
  EXPECT_EQ(ParseYamlInteger("-12"), WideInt{-12});
  EXPECT_EQ(ParseYamlInteger("+12"), WideInt{12});
  EXPECT_EQ(ParseYamlInteger("0x1F"), WideInt{31});
  EXPECT_EQ(ParseYamlInteger("0o17"), WideInt{15});
  EXPECT_EQ(ParseYamlInteger("18446744073709551615"), WideInt{UINT64_MAX});
  for (const char* text :
       {"", "-", "+", "1.0", "1e3", "017", "-00", "0x", "0xg", "0o8", "1_0", " 1", "1 ", "a",
        "0b1", "--1", "99999999999999999999999999999999999"}) {
    EXPECT_FALSE(ParseYamlInteger(text).has_value()) << text;
  }
}

TEST(YamlScalarTest, Floats) {
  EXPECT_EQ(ParseYamlFloat<double>("1.5"), 1.5);
  EXPECT_EQ(ParseYamlFloat<double>("+1"), 1.0);
  EXPECT_EQ(ParseYamlFloat<double>("-.5e-1"), -0.05);
  EXPECT_EQ(ParseYamlFloat<double>("5."), 5.0);
  EXPECT_EQ(ParseYamlFloat<double>("1E5"), 1e5);
  EXPECT_EQ(ParseYamlFloat<double>("-.inf"), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(*ParseYamlFloat<double>(".NaN")));
  EXPECT_TRUE(std::signbit(*ParseYamlFloat<double>("-0.0")));
  EXPECT_EQ(ParseYamlFloat<float>("0.1"), 0.1f);
  for (const char* text : {"", ".", "e5", "1e", "1e+", "inf", "nan", "-.nan", "infinity",
                           "0x1p3", "1_0.5", "1.2.3", "1 ", "1,5"}) {
    EXPECT_FALSE(ParseYamlFloat<double>(text).has_value()) << text;
  }
}

TEST(YamlScalarTest, FloatsOutOfRange) {
  EXPECT_FALSE(ParseYamlFloat<double>("1e400").has_value());
  EXPECT_FALSE(ParseYamlFloat<double>("-1e99999999999999999999").has_value());
  EXPECT_FALSE(ParseYamlFloat<float>("1e39").has_value());
  EXPECT_FALSE(ParseYamlFloat<double>(std::string(400, '9')).has_value());
  EXPECT_EQ(ParseYamlFloat<double>("1e-400"), 0.0);
  EXPECT_EQ(ParseYamlFloat<double>("1e-99999999999999999999"), 0.0);
  EXPECT_EQ(ParseYamlFloat<float>("1e-60"), 0.0f);
  EXPECT_EQ(ParseYamlFloat<double>("0." + std::string(400, '0') + "1"), 0.0);
  EXPECT_EQ(ParseYamlFloat<double>("0e999999"), 0.0);
  EXPECT_EQ(ParseYamlFloat<double>("5e-324"), 5e-324);
}

TEST(YamlScalarTest, Bools) {
  EXPECT_EQ(ParseYamlBool("true"), true);
  EXPECT_EQ(ParseYamlBool("FALSE"), false);
  EXPECT_EQ(ParseYamlBool("yes"), std::nullopt);
  EXPECT_EQ(ParseYamlBool("tRUE"), std::nullopt);
}

TEST(YamlScalarTest, Base64) {
  const auto text = [](std::string_view digits) -> std::string {
    const auto bytes = ParseYamlBinary(digits);
    if (!bytes) return "refused";
    return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
  };
  EXPECT_EQ(text(""), "");
  EXPECT_EQ(text("Zg=="), "f");
  EXPECT_EQ(text("Zm8="), "fo");
  EXPECT_EQ(text("Zm9v"), "foo");
  EXPECT_EQ(text("Zm9v\n Zm8="), "foofo");
  for (const char* digits : {"Z", "Zg", "Zg=", "====", "Z===", "Zm9v!", "Zg==Zg==", "Zm-v"}) {
    EXPECT_EQ(text(digits), "refused") << digits;
  }
}

}  // namespace
}  // namespace ndlfs::model
