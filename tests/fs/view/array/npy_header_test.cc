// SPDX-License-Identifier: MIT
#include "fs/view/array/npy_header.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fs/view/base/python_repr.h"
#include "tests/support/python.h"

namespace ndlfs::fs {
namespace {

using model::Charset;
using model::Datatype;
using ::testing::HasSubstr;

Datatype Int(size_t bytes) { return Datatype::Integer(bytes, true); }
Datatype Time(std::string unit, int64_t scale, bool delta) {
  return Datatype::Time({std::move(unit), scale, delta});
}

Datatype LongComplex(const char* r, const char* i) {
  const Datatype part = Datatype::Float("float128", 16);
  return Datatype::PackedCompound({{r, part}, {i, part}});
}

// One array for numpy.save: its dtype in Python, and ours.
struct Case {
  std::string python;
  Datatype type;
  std::vector<uint64_t> shape = {3};
};

std::vector<Case> ScalarCases() {
  std::vector<Case> cases;
  for (const size_t bytes : {1, 2, 4, 8}) {
    cases.push_back({fmt::format("'i{}'", bytes), Datatype::Integer(bytes, true)});
    cases.push_back({fmt::format("'u{}'", bytes), Datatype::Integer(bytes, false)});
  }
  cases.insert(cases.end(), {{"'f2'", Datatype::Float("float16", 2)},
                             {"'f4'", Datatype::Float32()},
                             {"'f8'", Datatype::Float64()},
                             {"'longdouble'", Datatype::Float("float128", 16)},
                             {"'longdouble'", Datatype::Float("float80", 16)},
                             {"'V12'", Datatype::Float("float80", 12)},
                             {"'c8'", Datatype::Complex(8)},
                             {"'c16'", Datatype::Complex(16)},
                             {"'clongdouble'", LongComplex("r", "i")},
                             {"'?'", Datatype::Bool()},
                             {"'i2'", Datatype::Enum(Int(2), {{"UP", 0}, {"DOWN", 300}})},
                             {"'S5'", Datatype::FixedString(5, Charset::kAscii)},
                             {"'S7'", Datatype::FixedString(7, Charset::kUtf8)},
                             {"'S9'", Datatype::FixedString(9, Charset::kLatin1)},
                             {"'U3'", Datatype::FixedString(12, Charset::kUtf32)},
                             {"'V11'", Datatype::Opaque(11, "image/png")},
                             {"'V2'", Datatype::Float("bfloat16", 2)},
                             {"'V1'", Datatype::Float("float8_e4m3", 1)},
                             {"'M8[ns]'", Time("ns", 1, false)},
                             {"'M8[7D]'", Time("D", 7, false)},
                             {"'m8[10ms]'", Time("ms", 10, true)},
                             {"'m8'", Time("generic", 1, true)},
                             {"'M8'", Time("generic", 1, false)}});
  return cases;
}

std::vector<Case> ShapeCases() {
  return {{"'i4'", Int(4), {}},
          {"'i4'", Int(4), {0}},
          {"'i4'", Int(4), {2, 3}},
          {"'i4'", Int(4), {5, 0, 7}},
          {"'i4'", Int(4), std::vector<uint64_t>(32, 1)},
          {"('i4', (2, 3))", Datatype::Array(Int(4), {2, 3}), {4}},
          {"('i4', (5, 1))", Datatype::Array(Datatype::Array(Int(4), {1}), {5}), {2, 2}}};
}

std::vector<Case> StructCases() {
  const Datatype pair = Datatype::PackedCompound({{"a", Int(4)}, {"b", Datatype::Float64()}});
  const Datatype padded =
      Datatype::Compound({{"a", Int(1), 2}, {"b", Datatype::Float64(), 8}}, 20);
  std::vector<Datatype::Member> wide;
  for (int i = 0; i < 4000; ++i) wide.push_back({fmt::format("field{:05}", i), Int(2)});
  return {
      {"[('a', 'i4'), ('b', 'f8')]", pair},
      {"[('re', 'longdouble'), ('im', 'longdouble')]", LongComplex("re", "im")},
      {"[('r', 'f2'), ('i', 'f2')]",
       Datatype::PackedCompound(
           {{"r", Datatype::Float("float16", 2)}, {"i", Datatype::Float("float16", 2)}})},
      {"{'names': ['a', 'b'], 'formats': ['i1', 'f8'], 'offsets': [2, 8], 'itemsize': 20}",
       padded},
      {"[('z', 'c16'), ('t', '?'), ('w', 'M8[us]'), ('s', 'S3')]",
       Datatype::PackedCompound({{"z", Datatype::Complex(16)},
                                 {"t", Datatype::Bool()},
                                 {"w", Time("us", 1, false)},
                                 {"s", Datatype::FixedString(3, Charset::kAscii)}})},
      {"[('p', [('a', 'i4'), ('b', 'f8')], (2, 3)), ('q', 'f4', (1,))]",
       Datatype::PackedCompound({{"p", Datatype::Array(pair, {2, 3})},
                                 {"q", Datatype::Array(Datatype::Float32(), {1})}})},
      {"[('n', {'names': ['a', 'b'], 'formats': ['i1', 'f8'], 'offsets': [2, 8],"
       " 'itemsize': 20})]",
       Datatype::PackedCompound({{"n", padded}})},
      {"[('s', 'S0'), ('v', 'V0'), ('x', 'i4', (0,)), ('i', 'i4')]",
       Datatype::PackedCompound({{"s", Datatype::FixedString(0, Charset::kAscii)},
                                 {"v", Datatype::Opaque(0)},
                                 {"x", Datatype::Array(Int(4), {0})},
                                 {"i", Int(4)}})},
      {R"([("it's", 'i1'), ('say "x"', 'i1'), ("'\"", 'i1'), ('a\\b\n\t\r\0', 'i1')])",
       Datatype::PackedCompound({{"it's", Int(1)},
                                 {"say \"x\"", Int(1)},
                                 {"'\"", Int(1)},
                                 {std::string("a\\b\n\t\r\0", 7), Int(1)}})},
      {"[('\u00e9t\u00e9', 'i1'), ('\\x7f\\xa0\\xad', 'i1'), ('\\u200b\\U000e0001', 'i1')]",
       Datatype::PackedCompound({{"\u00e9t\u00e9", Int(1)},
                                 {"\u007f\u00a0\u00ad", Int(1)},
                                 {"\u200b\U000e0001", Int(1)}})},
      {"[('\u6c34\U0001F30A', 'i1')]",
       Datatype::PackedCompound({{"\u6c34\U0001F30A", Int(1)}})},
      {"[('field%05d' % i, 'i2') for i in range(4000)]", Datatype::PackedCompound(wide)},
  };
}

// Compares the beginning of what numpy.save writes with NpyHeader().
void CompareWithNumpy(const std::vector<Case>& cases) {
  std::string script =
      "import io, warnings, numpy as np\n"
      "warnings.simplefilter('ignore')\n"
      "def save(dtype, shape):\n"
      "  f = io.BytesIO(); a = np.zeros(shape, np.dtype(dtype)); np.save(f, a)\n"
      "  b = f.getvalue(); print(b[:len(b) - a.nbytes].hex())\n";
  for (const Case& c : cases) {
    script += fmt::format("save({}, {})\n", c.python, PythonTuple(c.shape));
  }
  const std::vector<std::string> lines = test::Lines(test::RunPython(script));
  ASSERT_EQ(lines.size(), cases.size());
  for (size_t i = 0; i < cases.size(); ++i) {
    ASSERT_TRUE(FitsNpy(cases[i].type, cases[i].shape)) << cases[i].python;
    const std::string header = NpyHeader(cases[i].type, cases[i].shape);
    EXPECT_EQ(test::ToHex(header), lines[i]) << cases[i].python << "\n"
                                             << header.substr(0, 500);
    EXPECT_EQ(header.size() % 64, 0u);
  }
}

TEST(NpyHeaderTest, IsWhatNumpySavesForScalars) { CompareWithNumpy(ScalarCases()); }
TEST(NpyHeaderTest, IsWhatNumpySavesForShapes) { CompareWithNumpy(ShapeCases()); }
TEST(NpyHeaderTest, IsWhatNumpySavesForStructs) { CompareWithNumpy(StructCases()); }

TEST(NpyHeaderTest, IsOfTheOldestVersionThatCanSayIt) {
  const auto version = [](const Datatype& type) { return NpyHeader(type, {})[6]; };
  const std::vector<Case> structs = StructCases();
  EXPECT_EQ(version(structs[0].type), 1);
  EXPECT_EQ(version(structs[structs.size() - 3].type), 1);  // Latin-1 names
  EXPECT_EQ(version(structs[structs.size() - 2].type), 3);  // others
  EXPECT_EQ(version(structs[structs.size() - 1].type), 2);  // more than 65535 bytes
}

TEST(NpyHeaderTest, BoundaryOfTheSixteenBitLengthIsNumpys) {
  std::vector<Case> cases;
  for (size_t length = 65340; length < 65500; length += 16) {
    cases.push_back({fmt::format("[('x' * {}, 'i4')]", length),
                     Datatype::PackedCompound({{std::string(length, 'x'), Int(4)}})});
  }
  CompareWithNumpy(cases);
}

TEST(NpyDescrTest, WhatAFieldListCannotSayIsVoid) {
  const Datatype i4 = Int(4);
  EXPECT_EQ(NpyDescr(Datatype::Compound({{"a", i4, 0}, {"b", i4, 2}}, 8)), "'|V8'");  // overlap
  EXPECT_EQ(NpyDescr(Datatype::Compound({{"a", i4, 4}, {"b", i4, 0}}, 8)), "'|V8'");  // order
  EXPECT_EQ(NpyDescr(Datatype::PackedCompound({{"a", i4}, {"a", i4}})), "'|V8'");     // names
  EXPECT_EQ(NpyDescr(Datatype::PackedCompound({{"a", i4}, {"", i4}})), "'|V8'");      // no name
  EXPECT_EQ(NpyDescr(Datatype::PackedCompound({{"a\xff", i4}})), "'|V4'");            // no text
  EXPECT_EQ(NpyDescr(Datatype::Compound({}, 6)), "'|V6'");  // no field
  EXPECT_EQ(NpyDescr(Datatype::FixedString(6, Charset::kUtf32)), "'|V6'");
}

TEST(NpyDescrTest, OnlyTheStructThatCannotBeSaidIsVoid) {
  const Datatype overlap = Datatype::Compound({{"a", Int(4), 0}, {"b", Int(4), 2}}, 6);
  EXPECT_EQ(NpyDescr(Datatype::PackedCompound({{"x", Int(2)}, {"y", overlap}})),
            "[('x', '<i2'), ('y', '|V6')]");
}

TEST(NpyDescrTest, TimeUnitsThatNumpyRefusesAreIntegers) {
  EXPECT_EQ(NpyDescr(Time("fortnight", 1, false)), "'<i8'");
  EXPECT_EQ(NpyDescr(Time("s", 0, false)), "'<i8'");
  EXPECT_EQ(NpyDescr(Time("s", int64_t{1} << 31, true)), "'<i8'");
}

TEST(NpyDescrTest, TypeThatDoublesAtEachLevelIsVoid) {
  Datatype type = Datatype::Opaque(0);
  const std::string left(10'000, 'l');  // so that the text is soon too long
  for (int depth = 1; depth < Datatype::kMaxDepth; ++depth) {
    type = Datatype::PackedCompound({{left, type}, {"right", type}});
  }
  EXPECT_EQ(NpyDescr(type), "'|V0'");
}

TEST(NpyHeaderTest, ArraysBeyondNumpysLimitsDoNotFit) {
  EXPECT_TRUE(FitsNpy(Int(4), std::vector<uint64_t>(64, 1)));
  EXPECT_FALSE(FitsNpy(Int(4), std::vector<uint64_t>(65, 1)));
  EXPECT_FALSE(FitsNpy(Datatype::Array(Int(4), {1}), std::vector<uint64_t>(64, 1)));
  EXPECT_FALSE(FitsNpy(Datatype::String(), std::vector<uint64_t>{2}));
  EXPECT_TRUE(FitsNpy(Datatype::Opaque(0x7fffffff), std::vector<uint64_t>{1}));
  EXPECT_FALSE(FitsNpy(Datatype::Opaque(0x80000000), std::vector<uint64_t>{1}));
}

}  // namespace
}  // namespace ndlfs::fs
