// SPDX-License-Identifier: MIT
#include "fs/compare/canonical_type.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/memory_hierarchy.h"
#include "tests/support/result.h"

namespace ndlfs::fs {
namespace {

using model::Datatype;
using test::Counted;
using test::Raw;

std::string JsonOf(const Datatype& type) { return CanonicalType::Make(type).value().json(); }

std::string FixedForm(const Datatype& type, std::string_view elements) {
  std::string out;
  CanonicalType::Make(type).value().AppendFixed(backends::AsBytes(elements), out);
  return out;
}

TEST(CanonicalTypeTest, NamesTypesAsNumpyDoes) {
  EXPECT_EQ(JsonOf(Datatype::Integer(2, false)), "\"uint16\"");
  EXPECT_EQ(JsonOf(Datatype::Float64()), "\"float64\"");
  EXPECT_EQ(JsonOf(Datatype::Bool()), "\"bool\"");
  EXPECT_EQ(JsonOf(Datatype::Complex(16)), "\"complex128\"");
  EXPECT_EQ(JsonOf(Datatype::Time({"s", 25, false})), "\"datetime64[25s]\"");
  EXPECT_EQ(JsonOf(Datatype::Time({"generic", 1, true})), "\"timedelta64\"");
  EXPECT_EQ(JsonOf(Datatype::FixedString(8, model::Charset::kUtf32)), "\"string\"");
  EXPECT_EQ(JsonOf(Datatype::String()), "\"string\"");
  EXPECT_EQ(JsonOf(Datatype::Opaque(3, "tag")), R"(["opaque",3])");
}

TEST(CanonicalTypeTest, NamesNestedTypes) {
  const auto numbers = Datatype::Array(Datatype::Integer(1, true), {2, 3});
  EXPECT_EQ(JsonOf(Datatype::PackedCompound({{"a", numbers}, {"b", Datatype::Float32()}})),
            R"(["struct",[["a",["array","int8",[2,3]]],["b","float32"]]])");
  EXPECT_EQ(JsonOf(Datatype::Vlen(Datatype::Vlen(Datatype::String()))),
            R"(["vlen",["vlen","string"]])");
  EXPECT_EQ(JsonOf(Datatype::Enum(Datatype::Integer(1, true), {{"y", 2}, {"x", -1}})),
            R"(["enum","int8",[["x",-1],["y",2]]])");
}

TEST(CanonicalTypeTest, LeavesNumbersAsTheyAre) {
  for (const auto& type : {Datatype::Float32(), Datatype::Complex(8), Datatype::Opaque(5),
                           Datatype::Array(Datatype::Float64(), {4}),
                           Datatype::PackedCompound({{"a", Datatype::Float32()},
                                                     {"b", Datatype::Integer(1, true)}})}) {
    EXPECT_TRUE(CanonicalType::Make(type).value().is_plain()) << type.keyword();
  }
}

TEST(CanonicalTypeTest, LeavesOutPadding) {
  const auto type = Datatype::Compound(
      {{"a", Datatype::Integer(1, true), 0}, {"b", Datatype::Integer(2, true), 2}}, 6);
  EXPECT_EQ(FixedForm(type, "a?bb??A?BB??"), "abbABB");
  EXPECT_EQ(FixedForm(Datatype::Array(type, {2}), "a?bb??A?BB??"), "abbABB");
  // Nothing but padding.
  EXPECT_EQ(FixedForm(Datatype::Compound({}, 4), "????"), "");
  EXPECT_FALSE(CanonicalType::Make(Datatype::Compound({}, 4)).value().is_plain());
  EXPECT_EQ(FixedForm(*Datatype::FromKeyword("float128"), "0123456789??????"), "0123456789");
}

TEST(CanonicalTypeTest, CountsTextWithoutPaddingInUtf8) {
  using model::Charset;
  EXPECT_EQ(
      FixedForm(Datatype::FixedString(4, Charset::kAscii), std::string_view("ab\0\0a\0b\0", 8)),
      Counted("ab") + Counted(std::string_view("a\0b", 3)));
  EXPECT_EQ(
      FixedForm(Datatype::FixedString(4, Charset::kAscii, model::TextPadding::kSpace), "a   "),
      Counted("a"));
  EXPECT_EQ(FixedForm(Datatype::FixedString(2, Charset::kLatin1), "\xE9x"),
            Counted("\xC3\xA9x"));
  // Bytes that are no UTF-8 stay as they are.
  EXPECT_EQ(FixedForm(Datatype::FixedString(2, Charset::kUtf8), "\xE9x"), Counted("\xE9x"));
}

TEST(CanonicalTypeTest, GivesEachCodeAFormOfItsOwn) {
  const auto type = Datatype::FixedString(4, model::Charset::kUtf32);
  const auto form = [&](uint32_t code) { return FixedForm(type, Raw(code)); };
  EXPECT_EQ(form(0x7F), Counted("\x7F"));
  EXPECT_EQ(form(0x80), Counted("\xC2\x80"));
  EXPECT_EQ(form(0x7FF), Counted("\xDF\xBF"));
  EXPECT_EQ(form(0x20AC), Counted("\xE2\x82\xAC"));
  EXPECT_EQ(form(0xD800), Counted("\xED\xA0\x80"));
  EXPECT_EQ(form(0x1F600), Counted("\xF0\x9F\x98\x80"));
  EXPECT_EQ(form(0x7FFFFFFF), Counted("\xFD\xBF\xBF\xBF\xBF\xBF"));
  EXPECT_EQ(form(0x80000000), Counted(std::string_view("\xFE\x82\x80\x80\x80\x80\x80")));
}

TEST(CanonicalTypeTest, TakesElementsOfVariableSize) {
  const auto type =
      Datatype::PackedCompound({{"n", Datatype::Integer(1, true)},
                                {"v", Datatype::Vlen(Datatype::String())},
                                {"f", Datatype::FixedString(3, model::Charset::kAscii)}});
  const std::string element =
      "7" + Raw(uint32_t{2}) + Counted("a") + Counted("") + std::string("x\0\0", 3);
  const auto canonical = CanonicalType::Make(type);
  ASSERT_TRUE(canonical);
  std::string out;
  ASSERT_TRUE(canonical->AppendVariable(backends::AsBytes(element), out));
  EXPECT_EQ(out, "7" + Raw(uint32_t{2}) + Counted("a") + Counted("") + Counted("x"));
  for (size_t size = 0; size < element.size(); ++size) {
    std::string ignored;
    EXPECT_FALSE(canonical->AppendVariable(
        backends::AsBytes(std::string_view(element).substr(0, size)), ignored));
  }
}

TEST(CanonicalTypeTest, RefusesElementsOfVeryManyParts) {
  const auto text = Datatype::FixedString(1, model::Charset::kAscii);
  EXPECT_THAT(CanonicalType::Make(Datatype::Array(text, {2'000'000})),
              test::IsError(model::ErrorCode::kLimit, testing::HasSubstr("parts")));
  // Deep types take no time.
  Datatype deep = text;
  for (int i = 1; i < Datatype::kMaxDepth; ++i) deep = Datatype::Array(deep, {1});
  EXPECT_TRUE(CanonicalType::Make(deep));
}

}  // namespace
}  // namespace ndlfs::fs
