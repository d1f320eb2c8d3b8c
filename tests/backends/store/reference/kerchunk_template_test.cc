// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/store/reference/template.h"
#include "tests/support/result.h"

namespace ndlfs::backends::kerchunk {
namespace {

using model::ErrorCode;
using test::IsError;
using test::IsOkAnd;
using ::testing::Eq;
using ::testing::HasSubstr;

const Templates kTemplates = {{"u", "server/path"}, {"f", "{{c}}-{{d + 1}}"}};
const Variables kVariables = {{"i", int64_t{7}}, {"s", std::string("text")}};

model::Result<std::string> Rendered(std::string_view text) {
  return Render(text, kTemplates, kVariables);
}

TEST(KerchunkTemplateTest, ExpressionsAreWhatJinjaMakesOfThem) {
  const std::pair<const char*, const char*> kCases[] = {
      {"plain", "plain"},
      {"{plain}}", "{plain}}"},
      {"{{u}}_{{ i }}", "server/path_7"},
      {"{{(i + 1) * 1000}}", "8000"},
      {"{{1 + 2 * 3 - 4}}", "3"},
      {"{{-7 // 2}},{{-7 % 2}},{{7 // -2}},{{7 % -2}},{{-8 // -2}}", "-4,1,-4,-1,4"},
      {"{{ - -i }}{{ +i }}", "77"},
      {"{{u ~ i ~ '.nc'}}", "server/path7.nc"},
      {"{{'a' + \"b\"}}", "ab"},
      {"{{'%02d' % i}}", "07"},
      {"{{ '%05d.%s' | format(i * 2, s) }}", "00014.text"},
      {"{{'%-4d|%4d|%x|%%'|format(i, -i, 255)}}", "7   |  -7|ff|%"},
      {"{{'%04d'|format(-i)}}", "-007"},
      {"{{i|string}}{{'12'|int + 1}}", "713"},
      {"{{f(c='a', d=i)}}", "a-8"},
      {"{{f(d=1, c=f(c='x', d=2))}}", "x-3-2"},
  };
  for (const auto& [text, expected] : kCases) {
    EXPECT_THAT(Rendered(text), IsOkAnd(Eq(expected))) << text;
  }
}

TEST(KerchunkTemplateTest, WhatIsNotKnownIsNamed) {
  const std::pair<const char*, const char*> kCases[] = {
      {"{{i.upper()}}", "the template expression \"i.upper()\""},
      {"{{none}}", "there is no template \"none\""},
      {"{{f}}", "the template \"f\" needs values"},
      {"{{u(c=1)}}", "there is no template \"u\" that takes values"},
      {"{{i / 2}}", "nothing is known of \"/ 2\""},
      {"{{i if i else 0}}", "nothing is known of \"if i else 0\""},
      {"{{i|upper}}", "the filter \"upper\""},
      {"{{1.5}}", "no integer"},
      {"{{'a\\n'}}", "backslash"},
      {"{{'%f'|format(1)}}", "the format \"f\""},
      {"{% for x in y %}{{x}}", "\"{%\""},
  };
  for (const auto& [text, message] : kCases) {
    EXPECT_THAT(Rendered(text), IsError(ErrorCode::kUnsupported, HasSubstr(message))) << text;
  }
}

TEST(KerchunkTemplateTest, WhatMakesNoSenseIsRefused) {
  const std::pair<const char*, const char*> kCases[] = {
      {"{{i", "{{ without }}"},
      {"{{}}", "there is no value"},
      {"{{(i}}", "expected \")\""},
      {"{{'a}}", "a text without its end"},
      {"{{s * 2}}", "expected a number"},
      {"{{1 // 0}}", "a division by 0"},
      {"{{1 % 0}}", "a division by 0"},
      {"{{'%d'|format()}}", "too few values"},
      {"{{'x'|format(1)}}", "too many values"},
      {"{{'%d'|format('x')}}", "expected a number"},
      {"{{f(c=1, c=2)}}", "two values for \"c\""},
      {"{{s|int}}", "\"text\" is no integer"},
  };
  for (const auto& [text, message] : kCases) {
    EXPECT_THAT(Rendered(text), IsError(ErrorCode::kBadInput, HasSubstr(message))) << text;
  }
}

TEST(KerchunkTemplateTest, ExpressionsHaveBounds) {
  const std::string deep = "{{" + std::string(40, '(') + "1" + std::string(40, ')') + "}}";
  std::string doubled = "'0123456789abcdef'";
  for (int i = 0; i < 12; ++i) doubled = "(" + doubled + ") ~ (" + doubled + ")";
  const std::pair<std::string, const char*> kCases[] = {
      {deep, "parentheses"},
      {"{{" + doubled + "}}", "a text of more than 65536 bytes"},
      {"{{i}}" + std::string(70'000, 'x'), "a text of more than 65536 bytes"},
      {"{{9223372036854775807 + 1}}", "a number beyond 64 bits"},
      {"{{9223372036854775808}}", "a number beyond 64 bits"},
      {"{{(-9223372036854775807 - 1) // -1}}", "a number beyond 64 bits"},
      {"{{'%9999999d'|format(1)}}", "a width of more than 64"},
  };
  for (const auto& [text, message] : kCases) {
    EXPECT_THAT(Rendered(text), IsError(ErrorCode::kLimit, HasSubstr(message))) << message;
  }
}

TEST(KerchunkTemplateTest, TemplatesThatComeToNothingAreNotEvaluatedWithoutEnd) {
  const auto repeated = [](std::string_view text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
  };
  const Templates templates = {{"n", repeated("{{''}}", 10'000)},
                               {"p", std::string(60'000, 'p')}};
  const auto rendered = [&](const std::string& text) { return Render(text, templates, {}); };
  EXPECT_THAT(rendered("{{n()}}"), IsOkAnd(Eq("")));
  for (const std::string& text :
       {repeated("{{n()}}", 9'000), "{{p" + repeated(" ~ ''", 9'000) + "}}",
        "{{p" + repeated("|string", 9'000) + "}}",
        "{{p" + repeated("|format()", 7'000) + "}}"}) {
    EXPECT_THAT(rendered(text), IsError(ErrorCode::kLimit, HasSubstr("too much text")));
  }
}

}  // namespace
}  // namespace ndlfs::backends::kerchunk
