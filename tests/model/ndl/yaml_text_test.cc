// SPDX-License-Identifier: MIT
#include "model/ndl/yaml_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <random>

#include "model/utf8.h"

namespace ndlfs::model {
namespace {

std::string Scalar(std::string_view text, YamlPlace place = YamlPlace::kBlock) {
  std::string out;
  AppendScalar(out, text, place);
  return out;
}

std::string Literal(std::string_view text) {
  std::string out = "k: ";
  AppendLiteralBlock(out, text, 2);
  return out + "next: 1\n";
}

TEST(YamlTextTest, LeavesPlainWhatCanBePlain) {
  for (const char* text : {"CF-1.8",
                           "m s-1",
                           "2 m temperature",
                           "degrees_north",
                           "http://example.org/a#b",
                           "-x",
                           "?x",
                           "a:b",
                           "days since 1970-01-01",
                           "2008-12-31 was a Wednesday",
                           "1 2 3",
                           "é",
                           "x=1",
                           "a, b",
                           "0x",
                           "1e",
                           "12-5",
                           "v1.2.3",
                           "(K)",
                           "$x",
                           "^",
                           "<html>",
                           "10%"}) {
    EXPECT_EQ(Scalar(text), text);
  }
}

TEST(YamlTextTest, QuotesWhatResolvesToSomethingElse) {
  for (const char* text : {"",
                           "~",
                           "null",
                           "Null",
                           "NULL",
                           "true",
                           "True",
                           "TRUE",
                           "false",
                           "yes",
                           "Yes",
                           "no",
                           "NO",
                           "on",
                           "Off",
                           "y",
                           "N",
                           "1",
                           "-1",
                           "+12",
                           "1_000",
                           "0x10",
                           "0o17",
                           "017",
                           "0b101",
                           "1e5",
                           "1E-5",
                           "1.5",
                           ".5",
                           "5.",
                           "-1.5e+10",
                           ".inf",
                           "-.Inf",
                           ".NAN",
                           "+.inf",
                           "1:30",
                           "190:20:30",
                           "20:30.15",
                           "2008-12-31",
                           "<<",
                           "=",
                           ".",
                           "..",
                           "2008-1-2",
                           "1.2.3",
                           "2008-12-31T10:00:00Z",
                           "2008-12-31 10:00:00 +01:00",
                           "-2008-12-31",
                           "n",
                           "Y",
                           "0X1F",
                           "0B1",
                           "-0O7",
                           "1,000",
                           "1,000:30",
                           "-_1",
                           "1e1_0",
                           ".iNF",
                           ".na",
                           ".na.real",
                           ":x",
                           ":"}) {
    EXPECT_EQ(Scalar(text), '"' + std::string(text) + '"');
    EXPECT_EQ(Scalar(text, YamlPlace::kFlow), '"' + std::string(text) + '"');
  }
}

TEST(YamlTextTest, QuotesWhatYamlWouldReadOtherwise) {
  for (const char* text :
       {" a", "a ", "- a", "? a", ": a", "-",  "#a", "a #b", "a: b", "a:",    "[a]", "{a", "&a",
        "*a", "!a", "|",   ">",   "'a'", "%a", "@a", "`a`",  "---",  "--- a", "...", ",a"}) {
    EXPECT_EQ(Scalar(text), '"' + std::string(text) + '"');
  }
  EXPECT_EQ(Scalar("\"a\""), R"("\"a\"")");
  EXPECT_EQ(Scalar("a\\b"), R"(a\b)");
  EXPECT_EQ(Scalar(" a\\b"), R"(" a\\b")");
}

TEST(YamlTextTest, QuotesMoreInFlow) {
  for (const char* text : {"a, b", "a]", "a}", "a[0]", "what?", "?x"}) {
    EXPECT_EQ(Scalar(text, YamlPlace::kFlow), '"' + std::string(text) + '"');
    EXPECT_EQ(Scalar(text), text);
  }
}

TEST(YamlTextTest, JsonIsInSingleQuotesIfItCanBe) {
  const auto json = [](std::string_view text) {
    std::string out;
    AppendJson(out, text);
    return out;
  };
  EXPECT_EQ(json(R"({"a":[1,null]})"), R"('{"a":[1,null]}')");
  EXPECT_EQ(json(R"({"a":"it's \"})"), R"('{"a":"it''s \"}')");
  EXPECT_EQ(json("null"), "'null'");
  EXPECT_EQ(json(""), "''");
  EXPECT_EQ(json("[\"\x7f\"]"), "\"[\\\"\\x7f\\\"]\"");
  EXPECT_EQ(json("[\n]"), "\"[\\n]\"");
}

TEST(YamlTextTest, EscapesWhatIsNotPrintable) {
  EXPECT_EQ(Scalar(std::string_view("a\0\n\t\r\x1b\x7f", 7)), R"("a\0\n\t\r\x1b\x7f")");
  EXPECT_EQ(Scalar("a\u0085\u009f\u2028\ufeff"), R"("a\x85\x9f\u2028\ufeff")");
  EXPECT_EQ(Scalar("a\u00a0b"), "a\u00a0b");
}

TEST(YamlTextTest, TakesWhatIsNoUtf8AsLatin1) { EXPECT_EQ(Scalar("\xe9t\xe9"), "été"); }

TEST(YamlTextTest, LiteralBlocks) {
  EXPECT_EQ(Literal("a\nb"), "k: |-\n  a\n  b\nnext: 1\n");
  EXPECT_EQ(Literal("a\nb\n"), "k: |\n  a\n  b\nnext: 1\n");
  EXPECT_EQ(Literal("a\n\nb\n\n"), "k: |+\n  a\n\n  b\n\nnext: 1\n");
  for (const char* text : {"one line", " a\nb", "\na", "a\n \nb", "a\rb\n", "a\n\x1b", "\ta\nb",
                           "a\u2028\n", "\xff\n", "\n", "a\n  "}) {
    EXPECT_FALSE(CanBeLiteralBlock(text)) << text;
  }
  for (const char* text : {"a\n b", "a\n\tb", "a  \nb", "# a\n# b", "a\n\n\n", "é\n- x"}) {
    EXPECT_TRUE(CanBeLiteralBlock(text)) << text;
    EXPECT_EQ(YAML::Load(Literal(text))["k"].Scalar(), text);
  }
}

TEST(YamlTextTest, Binary) {
  const auto binary = [](std::string_view text) {
    std::string out;
    AppendBinary(out, std::as_bytes(std::span(text)));
    return out;
  };
  EXPECT_EQ(binary(""), "!!binary \"\"");
  EXPECT_EQ(binary("f"), "!!binary Zg==");
  EXPECT_EQ(binary("fo"), "!!binary Zm8=");
  EXPECT_EQ(binary("foo"), "!!binary Zm9v");
  EXPECT_EQ(binary("\xff\xfe\xfd\xfc"), "!!binary //79/A==");
}

// Text of what YAML likes to trip over.
std::string RandomText(std::mt19937& random) {
  static constexpr std::string_view kPieces[] = {
      "a",    "b",   " ",   "  ",   ":",    "#",      "-",      "?", ",",  "[", "]",
      "{",    "}",   "&",   "*",    "!",    "|",      ">",      "'", "\"", "%", "@",
      "`",    "\n",  "\t",  "\r",   "\\",   "1",      "0",      "x", "e",  ".", "+",
      "_",    "é",   "€",   "😀",    "\x7f", "\u0085", "\u2028", "~", "no", "=", "<<",
      "\n\n", "---", "...", "\xff", "y",    "null",   "\u00a0", "$"};
  std::string text;
  for (size_t n = random() % 7; n > 0; --n) text += kPieces[random() % std::size(kPieces)];
  return text;
}

TEST(YamlTextTest, ReadsBackAsTheSameTextEverywhere) {
  std::mt19937 random(3);
  for (int i = 0; i < 30000; ++i) {
    const std::string text = RandomText(random);
    const std::string expected = IsUtf8(text) ? text : Latin1ToUtf8(text);
    const std::string block = Scalar(text);
    const std::string flow = Scalar(text, YamlPlace::kFlow);
    const std::string document = "k: " + block + "\nf: [" + flow + ", {" + flow + ": " + flow +
                                 "}]\n" + Scalar("z" + text) + ":\n  - " + block + "\n";
    const YAML::Node node = YAML::Load(document);
    ASSERT_EQ(node["k"].Scalar(), expected) << document;
    ASSERT_EQ(node["f"][0].Scalar(), expected) << document;
    ASSERT_EQ(node["f"][1].begin()->first.Scalar(), expected) << document;
    ASSERT_EQ(node["f"][1].begin()->second.Scalar(), expected) << document;
    if (CanBeLiteralBlock(text)) {
      const YAML::Node literal = YAML::Load(Literal(text));
      ASSERT_EQ(literal["k"].Scalar(), expected) << document;
      ASSERT_EQ(literal["next"].Scalar(), "1") << document;
    }
  }
}

}  // namespace
}  // namespace ndlfs::model
