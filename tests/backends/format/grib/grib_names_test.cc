// SPDX-License-Identifier: MIT
//
// What libeccodes is asked about parameters of local tables. tests/mount/grib_test.py asks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "backends/codec/grib/message.h"
#include "backends/format/grib/local_names.h"
#include "tests/support/grib_builder.h"
#include "tests/support/result.h"

namespace ndlfs::backends::grib {
namespace {

using test::GribMessageOf;
using test::GribTestField;

std::string QuestionOf(const std::string& message) {
  const auto parsed = ParseGribMessage(AsBytes(message));
  EXPECT_THAT(parsed, test::IsOk());
  return parsed ? MakeNameQuestion(*parsed, parsed->fields.front()) : "";
}
std::string QuestionAbout(const GribTestField& field) {
  return QuestionOf(GribMessageOf(field));
}

TEST(GribNamesTest, QuestionIsAMessageOfOnePointAndTheSameParameter) {
  const GribTestField field = {.discipline = 2,
                               .category = 3,
                               .number = 199,
                               .centre = 78,
                               .surface = 103,
                               .level = 7,
                               .hours = 6,
                               .length = 3};
  const auto asked = ParseGribMessage(AsBytes(QuestionAbout(field)));
  ASSERT_THAT(asked, test::IsOk());
  EXPECT_EQ(asked->discipline, 2);
  EXPECT_EQ(asked->centre, 78);
  EXPECT_EQ(asked->reference_time.year, 2000);
  ASSERT_EQ(asked->fields.size(), 1U);
  const GribField& about = asked->fields.front();
  EXPECT_EQ(about.points, 1U);
  EXPECT_EQ(about.product_template, 8);
  EXPECT_EQ(about.category, 3);
  EXPECT_EQ(about.number, 199);
}

TEST(GribNamesTest, TimesAndMembersAreNotAsked) {
  const std::string question = QuestionAbout({.number = 199, .hours = 6});
  EXPECT_EQ(QuestionAbout({.number = 199, .day = 9, .hours = 12}), question);
  EXPECT_EQ(QuestionAbout({.number = 199, .hours = 6, .ni = 4, .nj = 1}), question);
  EXPECT_NE(QuestionAbout({.number = 200, .hours = 6}), question);
  EXPECT_NE(QuestionAbout({.number = 199, .level = 85000, .hours = 6}), question);
  EXPECT_EQ(QuestionAbout({.number = 199, .member = 3}),
            QuestionAbout({.number = 199, .member = 4}));
  EXPECT_EQ(QuestionAbout({.number = 199, .hours = 0, .length = 6}),
            QuestionAbout({.number = 199, .hours = 6, .length = 6}));
  EXPECT_NE(QuestionAbout({.number = 199, .hours = 0, .length = 6}),
            QuestionAbout({.number = 199, .hours = 0, .length = 3}));
}

TEST(GribNamesTest, QuestionOfEdition1IsAMessageToo) {
  // Section 1 with ten octets of a local definition; a grid with a number, and no values.
  std::string product(38, '\0');
  product[2] = 38;
  product[3] = static_cast<char>(201);
  product[4] = 78;
  product[8] = 5;
  product[12] = 25, product[13] = 1, product[14] = 1;
  const std::string body = product + std::string("\0\0\x0c\x08\0\0\0\0\0\0\0\0", 12) + "7777";
  const std::string message =
      "GRIB" + test::GribNumber(body.size() + 8, 3) + test::GribNumber(1, 1) + body;
  const auto asked = ParseGribMessage(AsBytes(QuestionOf(message)));
  ASSERT_THAT(asked, test::IsOk());
  EXPECT_EQ(asked->centre, 78);
  EXPECT_EQ(asked->tables_version, 201);
  EXPECT_EQ(asked->fields.front().number, 5);
  EXPECT_EQ(asked->fields.front().points, 1U);
}

TEST(GribNamesTest, NobodyIsAskedWithoutAHelper) { EXPECT_FALSE(AsksForName({.number = 199})); }

}  // namespace
}  // namespace ndlfs::backends::grib
