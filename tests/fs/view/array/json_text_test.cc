// SPDX-License-Identifier: MIT
#include "fs/view/array/json_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <utility>

#include "fs/view/base/text_window.h"
#include "model/value.h"
#include "tests/support/memory_hierarchy.h"
#include "tests/support/result.h"

namespace ndlfs::fs {
namespace {

using model::Charset;
using model::Datatype;
using test::Counted;
using test::IsError;
using test::IsOkAnd;
using test::Raw;
using ::testing::HasSubstr;

model::Result<std::string> Json(const Datatype& type, const std::string& element) {
  std::string out(10'000, '\0');
  TextWindow window(0, 0, std::as_writable_bytes(std::span(out)));
  backends::ConstByteSpan stream = backends::AsBytes(element);
  NDLFS_RETURN_IF_ERROR(AppendJson(type, stream, window));
  EXPECT_TRUE(stream.empty());
  out.resize(window.filled());
  return out;
}

std::string List(uint32_t count, const std::string& items) { return Raw(count) + items; }

TEST(JsonTextTest, ScalarsAreWhatPythonReads) {
  EXPECT_THAT(Json(Datatype::Integer(8, false), Raw(~uint64_t{0})),
              IsOkAnd("18446744073709551615"));
  EXPECT_THAT(Json(Datatype::Integer(1, true), Raw(int8_t{-1})), IsOkAnd("-1"));
  EXPECT_THAT(Json(Datatype::Float64(), Raw(0.1)), IsOkAnd("0.1"));
  EXPECT_THAT(Json(Datatype::Float32(), Raw(0.1f)), IsOkAnd("0.10000000149011612"));
  EXPECT_THAT(Json(Datatype::Float64(), Raw(1.0)), IsOkAnd("1.0"));
  EXPECT_THAT(Json(Datatype::Float64(), Raw(std::numeric_limits<double>::quiet_NaN())),
              IsOkAnd("NaN"));
  EXPECT_THAT(Json(Datatype::Float64(), Raw(-std::numeric_limits<double>::infinity())),
              IsOkAnd("-Infinity"));
  EXPECT_THAT(Json(Datatype::Float64(), Raw(std::numeric_limits<double>::infinity())),
              IsOkAnd("Infinity"));
  EXPECT_THAT(Json(Datatype::Bool(), "\1"), IsOkAnd("true"));
  EXPECT_THAT(Json(Datatype::Bool(), std::string(1, '\0')), IsOkAnd("false"));
  EXPECT_THAT(Json(Datatype::Bool(), "\2"), IsOkAnd("2"));
  const Datatype direction = Datatype::Enum(Datatype::Integer(1, true), {{"UP", 7}});
  EXPECT_THAT(Json(direction, "\7"), IsOkAnd("\"UP\""));
  EXPECT_THAT(Json(direction, "\1"), IsOkAnd("1"));
  EXPECT_THAT(Json(Datatype::FixedString(4, Charset::kAscii), std::string("ab\0\0", 4)),
              IsOkAnd("\"ab\""));
}

TEST(JsonTextTest, IntegersOfAllSizesAreWholeNumbers) {
  EXPECT_THAT(Json(Datatype::Integer(1, true), "\x80"), IsOkAnd("-128"));
  EXPECT_THAT(Json(Datatype::Integer(1, false), "\xff"), IsOkAnd("255"));
  EXPECT_THAT(Json(Datatype::Integer(2, true), Raw(int16_t{-32768})), IsOkAnd("-32768"));
  EXPECT_THAT(Json(Datatype::Integer(2, false), Raw(uint16_t{65535})), IsOkAnd("65535"));
  EXPECT_THAT(Json(Datatype::Integer(4, true), Raw(std::numeric_limits<int32_t>::min())),
              IsOkAnd("-2147483648"));
  EXPECT_THAT(Json(Datatype::Integer(4, false), Raw(~uint32_t{0})), IsOkAnd("4294967295"));
  EXPECT_THAT(Json(Datatype::Integer(8, true), Raw(std::numeric_limits<int64_t>::min())),
              IsOkAnd("-9223372036854775808"));
  EXPECT_THAT(Json(Datatype::Integer(4, false, model::ByteOrder::kBig), Raw(uint32_t{1} << 24)),
              IsOkAnd("1"));
}

TEST(JsonTextTest, FloatsAreWrittenAsInDocuments) {
  std::mt19937_64 random(5);
  const auto expect = [](double number) {
    ASSERT_THAT(Json(Datatype::Float64(), Raw(number)),
                IsOkAnd(model::FormatFloat(number, /*yaml=*/false)));
    const auto narrow = static_cast<float>(number);
    if (!std::isfinite(narrow)) return;
    ASSERT_THAT(Json(Datatype::Float32(), Raw(narrow)),
                IsOkAnd(model::FormatFloat(double{narrow}, /*yaml=*/false)));
  };
  for (const double number : {0.0, -0.0, 1.0, 1e5, 123456.0, 1e15, 1e16, 1e22, 1e23, 5e-324,
                              0.001, 1e-5, 0.5, 4e6, 100000.5}) {
    expect(number);
    expect(-number);
  }
  for (int i = 0; i < 20'000; ++i) {
    const auto number = std::bit_cast<double>(random());
    if (std::isfinite(number)) expect(number);
    expect(static_cast<double>(random() % 1'000'000) / 64);
  }
}

TEST(JsonTextTest, TextIsEscapedAsJsonNeeds) {
  const auto text = [](std::string_view t) { return Json(Datatype::String(), Counted(t)); };
  EXPECT_THAT(text(""), IsOkAnd("\"\""));
  EXPECT_THAT(text("Montr\u00e9al"), IsOkAnd("\"Montr\u00e9al\""));
  EXPECT_THAT(text("a\"b\\c\n\t\x7f"), IsOkAnd("\"a\\\"b\\\\c\\u000a\\u0009\x7f\""));
  EXPECT_THAT(text(std::string_view("a\0b", 3)), IsOkAnd("\"a\\u0000b\""));
  EXPECT_THAT(text("caf\xe9"), IsOkAnd("\"caf\u00e9\""));  // Latin-1
}

TEST(JsonTextTest, BytesAreLatin1EvenIfTheyAreUtf8) {
  const Datatype bytes = Datatype::String(Charset::kLatin1);
  EXPECT_THAT(Json(bytes, List(1, "\xe9")), IsOkAnd("\"\xc3\xa9\""));
  EXPECT_THAT(Json(bytes, List(2, "\xc3\xa9")), IsOkAnd("\"\xc3\x83\xc2\xa9\""));
  EXPECT_THAT(Json(Datatype::String(), List(2, "\xc3\xa9")), IsOkAnd("\"\xc3\xa9\""));
}

TEST(JsonTextTest, ElementsThatAreJsonStandForThemselves) {
  const std::string element = List(6, "\"true\"") + List(4, "true");
  std::string out(100, '\0');
  TextWindow window(0, 0, std::as_writable_bytes(std::span(out)));
  backends::ConstByteSpan stream = backends::AsBytes(element);
  ASSERT_THAT(AppendJsonElement(stream, window), test::IsOk());
  ASSERT_THAT(AppendJsonElement(stream, window), test::IsOk());
  EXPECT_EQ(out.substr(0, window.filled()), "\"true\"true");
  EXPECT_THAT(AppendJsonElement(stream, window),
              IsError(model::ErrorCode::kCorrupt, HasSubstr("")));
}

TEST(JsonTextTest, TextThatOnlyAFilterCallsJsonIsAString) {
  for (const auto& [text, shown] :
       {std::pair("plain text", "\"plain text\""), std::pair("", "\"\""),
        std::pair("a\nb", "\"a\\u000ab\""), std::pair("{} {}", "\"{} {}\""),
        std::pair("{\"a\":[1]}", "{\"a\":[1]}")}) {
    const std::string element = Counted(text);
    std::string out(100, '\0');
    TextWindow window(0, 0, std::as_writable_bytes(std::span(out)));
    backends::ConstByteSpan stream = backends::AsBytes(element);
    ASSERT_THAT(AppendJsonElement(stream, window), test::IsOk());
    EXPECT_EQ(out.substr(0, window.filled()), shown);
  }
}

TEST(JsonTextTest, OpaqueIsBase64) {
  EXPECT_THAT(Json(Datatype::Opaque(0), ""), IsOkAnd("\"\""));
  EXPECT_THAT(Json(Datatype::Opaque(1), "f"), IsOkAnd("\"Zg==\""));
  EXPECT_THAT(Json(Datatype::Opaque(2), "fo"), IsOkAnd("\"Zm8=\""));
  EXPECT_THAT(Json(Datatype::Opaque(6), "foobar"), IsOkAnd("\"Zm9vYmFy\""));
  EXPECT_THAT(Json(Datatype::Opaque(3), "\xff\xfe\xfd"), IsOkAnd("\"//79\""));
}

TEST(JsonTextTest, ReferencesArePathNames) {
  EXPECT_THAT(Json(Datatype::ObjectRef(), Counted("/g/x")), IsOkAnd("\"/g/x\""));
  EXPECT_THAT(Json(Datatype::ObjectRef(), Counted("")), IsOkAnd("null"));
  const Datatype region = Datatype::RegionRef(Datatype::Selection::kBlock);
  EXPECT_THAT(Json(region, Counted("")), IsOkAnd("null"));
  EXPECT_THAT(Json(region, Counted(R"({"target": "/x", "start": [0], "opposite": [2]})")),
              IsOkAnd(R"({"target":"/x","start":[0],"opposite":[2]})"));
}

TEST(JsonTextTest, SequencesAreLists) {
  const Datatype u1 = Datatype::Integer(1, false);
  EXPECT_THAT(Json(Datatype::Vlen(u1), List(3, "\1\2\3")), IsOkAnd("[1,2,3]"));
  EXPECT_THAT(Json(Datatype::Vlen(u1), List(0, "")), IsOkAnd("[]"));
  EXPECT_THAT(Json(Datatype::Vlen(Datatype::Vlen(u1)), List(2, List(1, "\1") + List(0, ""))),
              IsOkAnd("[[1],[]]"));
  EXPECT_THAT(Json(Datatype::Array(Datatype::String(), {2, 2}),
                   Counted("a") + Counted("b") + Counted("c") + Counted("d")),
              IsOkAnd(R"(["a","b","c","d"])"));
  EXPECT_THAT(Json(Datatype::Array(Datatype::String(), {0}), ""), IsOkAnd("[]"));
  // The members of a struct stand one after the other, whatever its padding.
  const Datatype padded =
      Datatype::Compound({{"a", u1, 0}, {"b", Datatype::Complex(8), 8}}, 24);
  EXPECT_THAT(Json(Datatype::Vlen(padded), List(1, "\1" + Raw(1.5f) + Raw(2.0f))),
              IsOkAnd("[[1,[1.5,2.0]]]"));
}

TEST(JsonTextTest, StreamThatEndsTooEarlyIsCorrupt) {
  const auto corrupt = [](const Datatype& type, const std::string& stream,
                          const std::string& words) {
    EXPECT_THAT(Json(type, stream), IsError(model::ErrorCode::kCorrupt, HasSubstr(words)));
  };
  corrupt(Datatype::Integer(4, true), "abc", "needs 4 bytes where 3 are left");
  corrupt(Datatype::String(), "ab", "needs 4 bytes where 2 are left");
  corrupt(Datatype::String(), Raw(uint32_t{5}) + "abc", "needs 5 bytes where 3 are left");
  corrupt(Datatype::Vlen(Datatype::Integer(1, true)), List(4, "abc"), "4 items in 3 bytes");
  corrupt(Datatype::Vlen(Datatype::Opaque(0)), List(1'000'001, ""), "1000001 items in 0 bytes");
  corrupt(Datatype::Array(Datatype::Opaque(0), {1 << 20}), "", "empty items");
  corrupt(Datatype::PackedCompound({{"name", Datatype::String()}}), "ab", "name: ");
}

TEST(TextWindowTest, KeepsThePartThatIsWanted) {
  const std::string text = "0123456789";
  for (size_t begin = 0; begin <= text.size(); ++begin) {
    for (size_t size = 0; size <= text.size(); ++size) {
      for (const size_t piece : {1, 3, 10}) {
        std::string out(size, '\0');
        TextWindow window(0, begin, std::as_writable_bytes(std::span(out)));
        for (size_t at = 0; at < text.size(); at += piece) {
          window.Append(std::string_view(text).substr(at, piece));
        }
        out.resize(window.filled());
        EXPECT_EQ(out, text.substr(begin, size));
        EXPECT_EQ(window.full(), begin + size <= text.size());
      }
    }
  }
}

}  // namespace
}  // namespace ndlfs::fs
