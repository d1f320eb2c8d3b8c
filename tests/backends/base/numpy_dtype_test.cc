// SPDX-License-Identifier: MIT
#include "backends/base/numpy_dtype.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/numpy_text.h"
#include "tests/support/python.h"
#include "tests/support/result.h"

namespace ndlfs::backends {
namespace {

using ::testing::Eq;
using ::testing::HasSubstr;

std::string CanonOf(const model::Result<model::Datatype>& type) {
  return type ? test::Canon(*type) : "error: " + type.error().message();
}

std::string CanonOfJson(std::string_view text) {
  const auto json = ParseJson(text);
  const auto descr = NumpyDescrFromJson(*json);
  if (!descr) return "error: " + descr.error().message();
  return CanonOf(NumpyDtype(*descr));
}

TEST(NumpyDtypeTest, ReadsTypeStringsAsNumpyDoes) {
  const std::string script = std::string(test::kCanonPython) + R"PY(
import warnings
warnings.simplefilter('ignore')  # some of the words are old
words = '''? b1 |b1 bool b B h H i I l L q Q p P e f d g F D G S U V
i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 f16 c8 c16 c32 |i1 |u1 <i2 >i2 =i2 <u8 >u8 >f2 <f4 >f8 >f16
>c8 <c16 >c32 |S0 |S1 S12 >S3 a10 |U0 <U5 >U7 U1 |V0 |V16 V3 >V2
int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 float128
complex64 complex128 complex256 int float complex datetime64 timedelta64 datetime64[ms]
timedelta64[7D] M m M8 m8 <M8 >m8 i04
<M8[Y] <M8[M] <M8[W] <M8[D] <M8[h] <M8[m] <M8[s] <M8[ms] <M8[us] <M8[ns] <M8[ps] <M8[fs] <M8[as]
>M8[ns] <m8[ns] >m8[25s] <M8[10ms] M8[generic] m8[\u03bcs] M8[2147483647s]'''.split()
for w in words: print(w, canon(np.dtype(w)))
)PY";
  const auto lines = test::Lines(test::RunPython(script));
  ASSERT_EQ(lines.size(), 117u);
  for (const std::string& line : lines) {
    const size_t blank = line.find(' ');
    EXPECT_EQ(CanonOf(NumpyDtype(line.substr(0, blank))), line.substr(blank + 1)) << line;
  }
}

TEST(NumpyDtypeTest, ReadsFieldListsAsNumpyDoes) {
  const std::string script = std::string(test::kCanonPython) + R"PY(
import json
nested = np.dtype([('a', '>i2'), ('b', [('x', '<f4'), ('y', 'S3', (2, 2))]), ('c', '?')])
for d in [
    np.dtype([('x', '<i4')]), nested,
    np.dtype([('m', nested, (3,)), ('t', '<M8[ns]'), ('z', '<c16')]),
    np.dtype([('v', '<f4', (2, 3)), ('w', ('<i2', (4,)), (5,))]),
    np.dtype([('u', '>U4'), ('o', 'V5'), ('e', 'V0'), ('n', '<f4', (0, 2))]),
    np.dtype([((u't\u00eft', u'n\u00e4me'), '<f4')]),
]:
  print(json.dumps(d.descr) + '\t' + canon(d))
)PY";
  const auto lines = test::Lines(test::RunPython(script));
  ASSERT_EQ(lines.size(), 6u);
  for (const std::string& line : lines) {
    const size_t tab = line.find('\t');
    EXPECT_EQ(CanonOfJson(line.substr(0, tab)), line.substr(tab + 1)) << line;
  }
}

TEST(NumpyDtypeTest, PaddingBecomesGaps) {
  // What NumPy gives for align=True.
  const std::string script = std::string(test::kCanonPython) + R"PY(
import json
d = np.dtype([('a', 'i1'), ('b', 'f8'), ('c', [('d', 'i2'), ('e', 'i8'), ('f', 'i1')]), ('g', 'u2')], align=True)
print(json.dumps(d.descr) + '\t' + canon(d))
)PY";
  const auto lines = test::Lines(test::RunPython(script));
  ASSERT_EQ(lines.size(), 1u);
  const size_t tab = lines[0].find('\t');
  EXPECT_THAT(lines[0].substr(0, tab), HasSubstr(R"(["", "|V7"])"));
  EXPECT_EQ(CanonOfJson(lines[0].substr(0, tab)), lines[0].substr(tab + 1));
}

TEST(NumpyDtypeTest, ByteOrdersOfFieldsAreTheirOwn) {
  EXPECT_EQ(CanonOfJson(R"([["a", ">i4"], ["b", "<i4"], ["c", "|u1"]])"),
            "{a:>i4@0,b:<i4@4,c:|u1@8}9");
}

TEST(NumpyDtypeTest, UnnamedFieldsThatAreNoPaddingAreNumbered) {
  EXPECT_EQ(CanonOfJson(R"([["", "<i4"], ["a", "|u1"], ["", "|V3"], ["", "<f4"]])"),
            "{f0:<i4@0,a:|u1@4,f3:<f4@8}12");
}

TEST(NumpyDtypeTest, ShapesOfFieldsMayBeNumbers) {
  EXPECT_EQ(CanonOfJson(R"([["a", "<i4", 3], ["b", "<i4", 1], ["c", "<i4", []]])"),
            "{a:<i4(3)@0,b:<i4@12,c:<i4@16}20");
  EXPECT_EQ(CanonOfJson(R"(["<i4", [2, 3]])"), "<i4(2,3)");
}

TEST(NumpyDtypeTest, ObjectsAreRefusedWithTheReason) {
  for (const char* typestr : {"|O", "O", "O8", "<O8"}) {
    EXPECT_THAT(NumpyDtype(typestr),
                test::IsError(model::ErrorCode::kUnsupported, HasSubstr("Python objects (\"")));
  }
  EXPECT_THAT(CanonOfJson(R"([["a", "<i4"], ["b", "|O"]])"),
              HasSubstr("field \"b\": elements are Python objects"));
}

TEST(NumpyDtypeTest, NonsenseIsRefused) {
  for (const char* typestr : {"",
                              "<",
                              "x",
                              "<x4",
                              "i3",
                              "i16",
                              "b2",
                              "f1",
                              "f3",
                              "c4",
                              "c7",
                              "f4 ",
                              " f4",
                              "M4",
                              "M8[",
                              "M8[]",
                              "M8[xs]",
                              "M8[-2s]",
                              "M8[2147483648s]",
                              "M8[ns]x",
                              "<<i4",
                              "i4i4",
                              "i99999999999999999999",
                              "-4",
                              "S-1",
                              "f4,i4",
                              "3i4",
                              "\xff"}) {
    EXPECT_THAT(NumpyDtype(typestr),
                test::IsError(model::ErrorCode::kBadInput, HasSubstr("is not a NumPy type")))
        << typestr;
  }
}

TEST(NumpyDtypeTest, ElementsOfTwoGibibytesAreRefused) {
  EXPECT_EQ(CanonOf(NumpyDtype("V2147483647")), "|V2147483647");
  for (const char* json :
       {R"("V2147483648")", R"("U536870912")", R"("S18446744073709551615")",
        R"([["a", "V2147483647"], ["b", "i1"]])", R"([["a", "f8", [65536, 65536]]])",
        R"([["a", "f8", [4294967296, 4294967296]]])", R"(["V65536", [32768]])"}) {
    EXPECT_EQ(CanonOfJson(json).substr(0, 6), "error:") << json;
    EXPECT_THAT(CanonOfJson(json), HasSubstr("elements of more than 2147483647 bytes"));
  }
}

TEST(NumpyDtypeTest, TwoFieldsOfOneNameAreRefused) {
  EXPECT_THAT(CanonOfJson(R"([["a", "i1"], ["a", "i2"]])"),
              HasSubstr("two fields are called \"a\""));
  EXPECT_THAT(CanonOfJson(R"([["f1", "i1"], ["", "i2"]])"),
              HasSubstr("two fields are called \"f1\""));
}

TEST(NumpyDtypeTest, DeepNestingIsRefused) {
  const auto nested = [](int depth) {
    std::string json = R"("i1")";
    for (int i = 0; i < depth; ++i) json = R"([["a", )" + json + "]]";
    return json;
  };
  EXPECT_THAT(CanonOfJson(nested(63)), HasSubstr("|i1@0"));
  EXPECT_THAT(NumpyDtype(*NumpyDescrFromJson(*ParseJson(nested(63)))), test::IsOk());
  const auto descr = NumpyDescrFromJson(*ParseJson(R"([["a", "i1"]])"));
  NumpyDescr deep = *descr;
  for (int i = 0; i < 64; ++i) {
    NumpyDescr outer;
    outer.kind = NumpyDescr::Kind::kFields;
    outer.fields.push_back({"a", std::move(deep)});
    deep = std::move(outer);
  }
  EXPECT_THAT(NumpyDtype(deep),
              test::IsError(model::ErrorCode::kLimit, HasSubstr("nested more than 64 deep")));
}

TEST(NumpyDtypeTest, WrongJsonIsNamed) {
  EXPECT_THAT(CanonOfJson("3"), HasSubstr("expected a NumPy type, found the number 3"));
  EXPECT_THAT(CanonOfJson(R"([["a"]])"), HasSubstr("expected [name, type]"));
  EXPECT_THAT(CanonOfJson(R"([["a", "i1", [1], 2]])"), HasSubstr("expected [name, type]"));
  EXPECT_THAT(CanonOfJson(R"([[3, "i1"]])"), HasSubstr("expected the name of a field"));
  EXPECT_THAT(CanonOfJson(R"([["a", null]])"), HasSubstr("field \"a\": expected a NumPy type"));
  EXPECT_THAT(CanonOfJson(R"([["a", "i1", [-1]]])"), HasSubstr("field \"a\": "));
  EXPECT_THAT(CanonOfJson(R"([["a", "i1", "x"]])"), HasSubstr("field \"a\": "));
  EXPECT_THAT(CanonOfJson(R"([["a", "zz"]])"),
              HasSubstr("field \"a\": \"zz\" is not a NumPy type"));
}

TEST(NumpyStorageTest, TellsByteOrderAndCharset) {
  const auto storage = [](std::string_view typestr) {
    return NumpyStorage(*NumpyDtype(typestr));
  };
  EXPECT_EQ(storage(">f4").endian, model::ByteOrder::kBig);
  EXPECT_EQ(storage("<f4").endian, model::ByteOrder::kLittle);
  EXPECT_EQ(storage("|u1").endian, std::nullopt);
  EXPECT_EQ(storage("|u1").charset, std::nullopt);
  EXPECT_EQ(storage("|S4").charset, "ascii");
  EXPECT_EQ(storage(">U4").charset, "utf-32");
  EXPECT_EQ(storage(">U4").endian, model::ByteOrder::kBig);
}

}  // namespace
}  // namespace ndlfs::backends
