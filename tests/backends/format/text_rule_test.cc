// SPDX-License-Identifier: MIT
#include "backends/format/text_rule.h"

#include <gtest/gtest.h>

#include <string_view>

namespace ndlfs::backends {
namespace {

using model::Charset;
using model::Datatype;
using namespace std::string_view_literals;

Datatype Looked(const Datatype& type, std::string_view elements) {
  TextRule rule(type);
  rule.Look(AsBytes(elements));
  EXPECT_EQ(rule.has_latin1(), !rule.Apply(type).SameLayout(type));
  return rule.Apply(type);
}

TEST(TextRuleTest, OneElementThatIsNotUtf8MakesAllOfThemLatin1) {
  const auto text = Datatype::FixedString(2, Charset::kUtf8);
  EXPECT_EQ(Looked(text, "ab\xc3\xb6").charset(), Charset::kUtf8);
  EXPECT_EQ(Looked(text, "ab\xc3\xb6\xf6\0"sv).charset(), Charset::kLatin1);
  EXPECT_EQ(Looked(text, "ab\xc3\xb6\xf6\0"sv).size(), 2);
}

TEST(TextRuleTest, EachTextOfAStructHasItsOwnRule) {
  const auto one = Datatype::FixedString(1, Charset::kAscii);
  const auto type = Datatype::Compound({{"a", one, 1}, {"b", Datatype::Array(one, {2}), 3}}, 5);
  const auto looked = Looked(type,
                             "\xff"
                             "a\xff"
                             "bc"
                             "\xff"
                             "a\xff"
                             "b\xff");
  EXPECT_EQ(looked.members()[0].type.charset(), Charset::kAscii);
  EXPECT_EQ(looked.members()[1].type.base().charset(), Charset::kLatin1);
  EXPECT_EQ(looked.members()[1].offset, 3);
  EXPECT_EQ(looked.size(), 5);
}

TEST(TextRuleTest, FollowsElementsOfVariableSize) {
  const auto type = Datatype::PackedCompound(
      {{"v", Datatype::Vlen(Datatype::Integer(2, true))}, {"s", Datatype::String()}});
  const auto good = "\1\0\0\0\xff\xff\1\0\0\0x"sv;
  const auto bad = "\0\0\0\0\1\0\0\0\xff"sv;
  EXPECT_EQ(Looked(type, good).members()[1].type.charset(), Charset::kUtf8);
  EXPECT_EQ(Looked(type, std::string(good) + std::string(bad)).members()[1].type.charset(),
            Charset::kLatin1);
}

TEST(TextRuleTest, EndsWhereElementsMakeNoSense) {
  const auto vlen = Datatype::Vlen(Datatype::String());
  EXPECT_TRUE(Looked(vlen, "\xff\xff\xff\xff\2\0\0\0a"sv).SameLayout(vlen));
  const auto none = Datatype::Vlen(Datatype::FixedString(0, Charset::kAscii));
  TextRule patient(none, 100'000);
  patient.Look(AsBytes("\xff\xff\xff\xff"sv));
  EXPECT_TRUE(patient.Apply(none).SameLayout(none));
  EXPECT_FALSE(TextRule(Datatype::Float64()).applies());
}

TEST(TextRuleTest, EmptyListsOfWideStructsCountAsSteps) {
  std::vector<Datatype::Member> members = {{"s", Datatype::String()}};
  for (int i = 0; i < 500; ++i) members.push_back({std::to_string(i), Datatype::Float64()});
  const auto type = Datatype::Vlen(Datatype::PackedCompound(std::move(members)));
  const auto is_latin1_after = [&](size_t empty_lists) {
    TextRule rule(type, 200'000);
    rule.Look(
        AsBytes(std::string(4 * empty_lists, '\0') + std::string("\1\0\0\0\1\0\0\0\xff"sv)));
    return rule.has_latin1();
  };
  EXPECT_TRUE(is_latin1_after(100));
  EXPECT_FALSE(is_latin1_after(1'000)) << "looked further than it may";
}

}  // namespace
}  // namespace ndlfs::backends
