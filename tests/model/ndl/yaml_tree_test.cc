// SPDX-License-Identifier: MIT
#include "model/ndl/yaml_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace ndlfs::model {
namespace {

using ::testing::HasSubstr;
using namespace std::string_literals;

// The tree in a notation of its own, with what each scalar is.
std::string Show(const YamlNode& node) {
  if (node.is_null()) return "~";
  if (node.is_scalar()) {
    const char* tag = node.is_quoted() ? "'" : node.is_binary() ? "!" : "";
    return tag + std::string(node.text());
  }
  std::string text(node.is_mapping() ? "{" : "[");
  for (const YamlNode* item : node.items()) text += Show(*item) + " ";
  return text + (node.is_mapping() ? "}" : "]");
}

std::string Parse(std::string_view text, const YamlLimits& limits = {}) {
  const auto tree = ParseYaml(text, limits);
  if (!tree) return FormatDiagnostic("", tree.error()).substr(1);
  return tree->root() ? Show(*tree->root()) : "nothing";
}

TEST(YamlTreeTest, Kinds) {
  EXPECT_EQ(Parse("a: 1\nb: '1'\nc: !!binary AA==\nd:\ne: [~, null, x]\n"),
            "{a 1 b '1 c !AA== d ~ e [~ ~ x ] }");
  EXPECT_EQ(Parse("a: !!str 1\nb: !!int 1\nc: |\n  x\n"), "{a '1 b 1 c 'x\n }");
  EXPECT_EQ(Parse("a: !!seq [!!map {}]"), "{a [{} ] }");
  EXPECT_EQ(Parse(""), "nothing");
  EXPECT_EQ(Parse("# only a comment\n"), "nothing");
  EXPECT_EQ(Parse("\xEF\xBB\xBF%YAML 1.2\n---\na: b\r\n...\n"), "{a b }");
}

TEST(YamlTreeTest, Escapes) {
  EXPECT_EQ(Parse(R"("\0\a\t\x41\u00e9\U0001F600\N\_\L\P\/\e")"),
            "'\0\a\tAé😀\u0085\u00a0\u2028\u2029/\x1b"s);
}

TEST(YamlTreeTest, Places) {
  const auto tree = ParseYaml("a:\n  - 1\n  - {b: 2}\n");
  const YamlNode& list = tree->root()->value(0);
  EXPECT_EQ(list.items()[0]->line(), 2);
  EXPECT_EQ(list.items()[0]->column(), 5);
  EXPECT_EQ(list.items()[1]->value(0).line(), 3);
  EXPECT_EQ(list.items()[1]->value(0).column(), 9);
}

TEST(YamlTreeTest, AliasesShareTheirNode) {
  const auto tree = ParseYaml("a: &x [1, 2]\nb: *x\n");
  EXPECT_EQ(&tree->root()->value(0), &tree->root()->value(1));
}

TEST(YamlTreeTest, RefusesWhatIsNotYaml) {
  EXPECT_EQ(Parse("a: b: c\n").substr(0, 19), "1:5: unexpected \":\"");
  EXPECT_EQ(Parse("a: [1, 2\n"), "2:1: expected \",\" or \"]\" in a list");
  EXPECT_EQ(Parse("a: {b: 2\n"), "2:1: expected \",\" or \"}\" in a mapping");
  EXPECT_EQ(Parse("a: ]\n"), "1:4: a closing bracket without an opening one");
  EXPECT_EQ(Parse("a: 'b\n"), "1:4: a quoted text without a closing quote");
  EXPECT_EQ(Parse("a: \"b\nc: 1\n"), "1:4: a quoted text without a closing quote");
  EXPECT_EQ(Parse("a: 'it''s' \n"), "{a 'it's }");
  EXPECT_EQ(Parse("a: \"b\\\"\"\n"), "{a 'b\" }");
  EXPECT_EQ(Parse("a: *b\n"), "1:4: the alias has no anchor before it");
  EXPECT_EQ(Parse("a: @b\n"),
            "1:4: a text cannot begin with this character, expected quotes around it");
  EXPECT_EQ(Parse("a: \"\\q\"\n"), "1:7: this is not YAML: unknown escape character: q");
}

TEST(YamlTreeTest, RefusesTabsInTheIndentation) {
  EXPECT_EQ(Parse("a:\n\tb: 1\n"), "2:1: a tab in the indentation, expected spaces");
  EXPECT_EQ(Parse("a:\n  b: 1\n  \tc: 1\n"), "3:3: a tab in the indentation, expected spaces");
  EXPECT_EQ(Parse("a:\n\t- 1\n"), "2:1: a tab in the indentation, expected spaces");
  EXPECT_EQ(Parse("a:\tb\n"), "{a b }");
}

TEST(YamlTreeTest, RefusesCharactersThatYamlDoesNotHave) {
  EXPECT_EQ(Parse("a: \xff\n"), "1:4: the byte 0xff is not UTF-8");
  EXPECT_EQ(Parse("a: b\nc: \xed\xa0\x80\n"), "2:4: the byte 0xed is not UTF-8");
  EXPECT_EQ(
      Parse(std::string_view("a: \0\n", 5)),
      "1:4: the control character 0x00 is not allowed, expected it as \"\\x00\" in double "
      "quotes");
  EXPECT_EQ(Parse("a: \x1b[0m\n").substr(0, 32), "1:4: the control character 0x1b ");
}

TEST(YamlTreeTest, RefusesUnknownTags) {
  EXPECT_EQ(Parse("a: !point 1\n"), "1:4: unknown tag \"!point\"");
  EXPECT_EQ(Parse("a: !!omap []\n"), "1:4: unknown tag \"tag:yaml.org,2002:omap\"");
}

TEST(YamlTreeTest, RefusesASecondDocument) {
  EXPECT_EQ(Parse("a: 1\n---\nb: 2\n"), "2:1: a second document begins, expected only one");
  EXPECT_EQ(Parse("a: 1\n...\nb\n"), "3:1: a second document begins, expected only one");
}

TEST(YamlTreeTest, RefusesDocumentsThatAreTooLarge) {
  YamlLimits limits;
  limits.bytes = 10;
  EXPECT_EQ(Parse("a: 12345678\n", limits), "1:1: a document of more than 10 bytes");
  limits = {};
  limits.nodes = 4;
  EXPECT_EQ(Parse("[1, 2, 3, 4]", limits), "1:11: a document of more than 4 values");
}

TEST(YamlTreeTest, RefusesDepth) {
  EXPECT_EQ(Parse("a: " + std::string(400, '[') + std::string(400, ']')),
            "1:403: nested more than 400 deep");
  EXPECT_THAT(Parse("a: " + std::string(10'000, '[')), HasSubstr("nested more than 400 deep"));
  std::string blocks;
  for (int i = 0; i < 10'000; ++i) blocks += "- ";
  EXPECT_EQ(Parse(blocks), "1:801: nested more than 400 deep");
  std::string lines;
  for (int i = 0; i < 10'000; ++i) lines += std::string(i, ' ') + "a:\n";
  EXPECT_EQ(Parse(lines), "401:401: nested more than 400 deep");
}

TEST(YamlTreeTest, RefusesWhatTheScannerWouldHaveToRememberWithoutEnd) {
  EXPECT_EQ(Parse(std::string(10'000'000, '[')),
            "1:1: a collection in flow style, or a text, with more than 1000000 indicators "
            "follows");
  // A list that is no possible key is not remembered.
  std::string list = "a: [";
  for (int i = 0; i < 700'000; ++i) list += "1, ";
  EXPECT_EQ(Parse(list + "1]").substr(0, 10), "{a [1 1 1 ");
}

TEST(YamlTreeTest, RefusesAliasesThatExplode) {
  std::string laughs = "a: &a [x, x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c < 'k'; ++c) {
    laughs += std::string(1, c) + ": &" + c + " [";
    for (int i = 0; i < 10; ++i) laughs += std::string("*") + static_cast<char>(c - 1) + ", ";
    laughs += "]\n";
  }
  EXPECT_EQ(Parse(laughs), "7:32: aliases expand to more than 8000000 values");
}

TEST(YamlTreeTest, RefusesAliasesThatRepeatALongText) {
  std::string text = "a: &a " + std::string(1'000'000, 'x') + "\nb: [";
  for (int i = 0; i < 70; ++i) text += "*a, ";
  EXPECT_EQ(Parse(text + "]\n"), "2:269: aliases expand to more than 67108864 bytes");
  std::string nested = "a: &a " + std::string(1'000'000, 'x') + "\nb: &b [*a, *a]\nc: [";
  for (int i = 0; i < 40; ++i) nested += "*b, ";
  EXPECT_EQ(Parse(nested + "]\n"), "3:133: aliases expand to more than 67108864 bytes");
}

TEST(YamlTreeTest, RefusesAliasesOfThemselves) {
  EXPECT_EQ(Parse("a: &x [*x]\n"), "1:8: an alias inside its own anchor");
  EXPECT_EQ(Parse("&x {a: *x}\n"), "1:8: an alias inside its own anchor");
}

}  // namespace
}  // namespace ndlfs::model
