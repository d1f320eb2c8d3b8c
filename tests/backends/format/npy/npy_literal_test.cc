// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/format/npy/literal.h"
#include "tests/support/python.h"
#include "tests/support/result.h"

namespace ndlfs::backends {
namespace {

using ::testing::HasSubstr;

// As Python's repr() would have it, strings in hexadecimal.
std::string Repr(const Literal& literal) {
  const auto join = [&](std::string_view open, std::string_view close) {
    std::string text(open);
    for (const Literal& item : literal.items) text += Repr(item) + ",";
    return text + std::string(close);
  };
  switch (literal.kind) {
    case Literal::Kind::kNone:
      return "None";
    case Literal::Kind::kBool:
      return literal.boolean ? "True" : "False";
    case Literal::Kind::kInteger:
      return std::to_string(literal.integer);
    case Literal::Kind::kString:
      return "'" + test::ToHex(literal.text) + "'";
    case Literal::Kind::kTuple:
      return join("(", ")");
    case Literal::Kind::kList:
      return join("[", "]");
    case Literal::Kind::kDict:
      break;
  }
  return join("{", "}");
}

std::string ReprOf(std::string_view text) {
  const auto literal = ParseLiteral(text);
  return literal ? Repr(*literal) : "error: " + literal.error().message();
}

TEST(ParseLiteralTest, ReadsWhatPythonReads) {
  const std::string script = R"PY(
import ast
def show(x):
    if isinstance(x, (bool, type(None))): return repr(x)
    if isinstance(x, int): return str(x)
    if isinstance(x, str): return "'" + x.encode().hex() + "'"
    if isinstance(x, tuple): return '(' + ''.join(show(i) + ',' for i in x) + ')'
    if isinstance(x, list): return '[' + ''.join(show(i) + ',' for i in x) + ']'
    return '{' + ''.join(show(i) + ',' for p in x.items() for i in p) + '}'
texts = [
    "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }          \n",
    "{'a':1}", "{ 'a' : ( 1 , ) , 'b':[],'c':() }", "((1))", "(1,)", "((1,),)", "( 1 , 2 , )",
    "[1,]", "-7", "+7", "0", "9223372036854775807", "-9223372036854775807",
    "'a\"b'", '"a\'b"', r"'\\ \' \" \n \t \r \a \b \f \v'", r"'\x41\101\7\u00e9\U0001f600'",
    "u'x'", "U\"x\"", "'\u00e9\U0001f600'", "{}", "[]", "()", "[[[[1]]]]",
    "{'a': 1, # a comment\n 'b': 2}", "{'a':\n\n1\n}", "True", "False", "None", "'a\\\nb'",
    "[(('t', 'n'), '<f4', (2, 3)), ('', '|V4')]", "(  \t\n)",
]
for t in texts: print(t.encode().hex(), show(ast.literal_eval(t)))
)PY";
  const auto lines = test::Lines(test::RunPython(script));
  ASSERT_EQ(lines.size(), 32u);
  for (const std::string& line : lines) {
    const size_t blank = line.find(' ');
    std::string text;
    for (size_t i = 0; i < blank; i += 2) {
      text += static_cast<char>(std::stoi(line.substr(i, 2), nullptr, 16));
    }
    EXPECT_EQ(ReprOf(text), line.substr(blank + 1)) << text;
  }
}

TEST(ParseLiteralTest, ReadsTheLongIntegersOfPython2) {
  EXPECT_EQ(ReprOf("(10L, 0L)"), "(10,0,)");
}

TEST(ParseLiteralTest, NamesTheByteWhereItGoesWrong) {
  EXPECT_EQ(ReprOf("{'a': }"), "error: byte 6: expected a literal, found \"}\"");
  EXPECT_EQ(ReprOf("{'a' 1}"), "error: byte 5: expected ':', found \"1\"");
  EXPECT_EQ(ReprOf("{'a': 1 'b': 2}"), "error: byte 8: expected ',' or '}', found \"'\"");
  EXPECT_EQ(ReprOf("(1 2)"), "error: byte 3: expected ',' or ')', found \"2\"");
  EXPECT_EQ(ReprOf("[1 2]"), "error: byte 3: expected ',' or ']', found \"2\"");
  EXPECT_EQ(ReprOf("[1"), "error: byte 2: expected ',' or ']', found the end");
  EXPECT_EQ(ReprOf("{'a': 1} x"), "error: byte 9: expected the end, found \"x\"");
  EXPECT_EQ(ReprOf("'abc"), "error: byte 4: expected the end of a string, found the end");
  EXPECT_EQ(ReprOf("'a\nb'"), "error: byte 2: expected the end of a string, found \"\\x0a\"");
  EXPECT_EQ(ReprOf("{#"), "error: byte 2: expected a literal, found the end");
  EXPECT_EQ(ReprOf("[1 #"), "error: byte 4: expected ',' or ']', found the end");
  EXPECT_EQ(ReprOf(""), "error: byte 0: expected a literal, found the end");
  EXPECT_EQ(ReprOf("\xff"), "error: byte 0: expected a literal, found \"\\xff\"");
}

TEST(ParseLiteralTest, RefusesWhatIsNoLiteralOfAHeader) {
  for (const char* text : {"(,)",
                           "[,]",
                           "{,}",
                           "{1}",
                           "{'a':1,,}",
                           "[1,,2]",
                           "{'a'}",
                           "1.5",
                           "1e5",
                           "1_000",
                           "0x10",
                           "007",
                           "1j",
                           "--1",
                           "-",
                           "-x",
                           "3x",
                           "10LL",
                           "nan",
                           "true",
                           "TrueX",
                           "b'x'",
                           "rb'x'",
                           "'a' 'b'",
                           "'''a'''",
                           "1 + 2",
                           "f()",
                           "a",
                           "__import__('os')",
                           "{**{}}",
                           "[1 for x in y]",
                           "'\\q'",
                           "'\\x4'",
                           "'\\xzz'",
                           "'\\ud800'",
                           "'\\U00110000'",
                           "'\\",
                           "lambda: 1",
                           "(1",
                           "((1)",
                           "{'a': (1,}",
                           "{",
                           "(",
                           "[",
                           "'",
                           "u",
                           "\\"}) {
    EXPECT_THAT(ParseLiteral(text),
                test::IsError(model::ErrorCode::kBadInput, HasSubstr("expected")))
        << text;
  }
  EXPECT_THAT(ParseLiteral(std::string_view("1\0", 2)),
              test::IsError(model::ErrorCode::kBadInput, HasSubstr("expected the end")));
}

TEST(ParseLiteralTest, RefusesIntegersBeyond64Bits) {
  EXPECT_THAT(ParseLiteral("(9223372036854775808,)"),
              test::IsError(model::ErrorCode::kLimit,
                            "byte 1: the integer \"9223372036854775808\" is beyond 64 bits"));
}

TEST(ParseLiteralTest, RefusesDeepNesting) {
  EXPECT_THAT(ParseLiteral(std::string(100, '[') + std::string(100, ']')), test::IsOk());
  for (const char* open : {"[", "(", "{1:"}) {
    std::string text;
    for (int i = 0; i < 100'000; ++i) text += open;
    EXPECT_THAT(ParseLiteral(text),
                test::IsError(model::ErrorCode::kLimit, HasSubstr("nested too deep")));
  }
}

TEST(LiteralTest, TheLastOfEqualKeysCounts) {
  const auto dict = ParseLiteral("{'a': 1, 'b': 2, 'a': 3, 4: 5}");
  EXPECT_EQ(dict->Find("a")->integer, 3);
  EXPECT_EQ(dict->Find("c"), nullptr);
}

TEST(LiteralTest, DescribesItselfForMessages) {
  const auto describe = [](std::string_view text) { return ParseLiteral(text)->Describe(); };
  EXPECT_EQ(describe("None"), "None");
  EXPECT_EQ(describe("True"), "True");
  EXPECT_EQ(describe("-3"), "the integer -3");
  EXPECT_EQ(describe("'x'"), "the string \"x\"");
  EXPECT_EQ(describe("(1, 2)"), "a tuple of 2");
  EXPECT_EQ(describe("[]"), "a list of 0");
  EXPECT_EQ(describe("{1: 2}"), "a dict");
}

}  // namespace
}  // namespace ndlfs::backends
