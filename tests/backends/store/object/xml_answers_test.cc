// SPDX-License-Identifier: MIT
#include "backends/store/object/xml_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/result.h"

namespace ndlfs::backends::object {
namespace {

using model::ErrorCode;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string List(const std::string& inside) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
         "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">" +
         inside + "</ListBucketResult>";
}
std::string Contents(const std::string& key) {
  return "<Contents><Key>" + key + "</Key><Size>7</Size></Contents>";
}

TEST(S3ListTest, ObjectsAndPrefixes) {
  const auto page = ParseListPage(
      List("<IsTruncated>false</IsTruncated><Contents><Key>a/b</Key>"
           "<LastModified>2013-05-24T10:20:30.5Z</LastModified><ETag>&quot;e-1&quot;</ETag>"
           "<Size>1234567890123</Size><Owner><ID>me</ID></Owner></Contents>"
           "<CommonPrefixes><Prefix>a/c/</Prefix></CommonPrefixes>"),
      "a/");
  ASSERT_THAT(page, test::IsOk());
  ASSERT_EQ(page->objects.size(), 1u);
  EXPECT_EQ(page->objects[0].key, "a/b");
  EXPECT_EQ(page->objects[0].size, 1234567890123u);
  EXPECT_EQ(page->objects[0].etag, "\"e-1\"");
  EXPECT_EQ(page->objects[0].modified_ns, 1369390830'500'000'000);
  EXPECT_THAT(page->prefixes, ElementsAre("a/c/"));
  EXPECT_EQ(page->next_token, "");
}

TEST(S3ListTest, NamesAreDecodedIfTheAnswerSaysSo) {
  const std::string inside = Contents("a%2Bb+c%25");
  EXPECT_EQ(ParseListPage(List(inside), "")->objects[0].key, "a%2Bb+c%25");
  EXPECT_EQ(
      ParseListPage(List(inside + "<EncodingType>url</EncodingType>"), "")->objects[0].key,
      "a+b c%");
  EXPECT_THAT(ParseListPage(List("<EncodingType>url</EncodingType>" + Contents("a%2")), ""),
              test::IsError(ErrorCode::kBadInput, HasSubstr("the name \"a%2\" in a list")));
}

TEST(S3ListTest, TokenOfTheNextPageOnlyWhereThereIsOne) {
  const std::string token = "<NextContinuationToken>t</NextContinuationToken>";
  EXPECT_EQ(ParseListPage(List("<IsTruncated>true</IsTruncated>" + token), "")->next_token,
            "t");
  EXPECT_EQ(ParseListPage(List("<IsTruncated>false</IsTruncated>" + token), "")->next_token,
            "");
  EXPECT_THAT(ParseListPage(List("<IsTruncated>true</IsTruncated>"), ""),
              test::IsError(ErrorCode::kBadInput, HasSubstr("goes on, without saying where")));
}

TEST(S3ListTest, WhatIsNoListIsRefused) {
  const auto is_refused = [](const char* why) {
    return test::IsError(ErrorCode::kBadInput, HasSubstr(why));
  };
  EXPECT_THAT(ParseListPage("", ""), is_refused("no valid XML"));
  EXPECT_THAT(ParseListPage("<html><body>Hello</body></html>", ""), is_refused("not a list"));
  EXPECT_THAT(ParseListPage("<!DOCTYPE html><html></html>", ""), is_refused("DOCTYPE"));
  EXPECT_THAT(ParseListPage("<ListBucketResult><Contents>", ""), is_refused("no valid XML"));
  EXPECT_THAT(ParseListPage(List("<Contents><Size>1</Size></Contents>"), ""),
              is_refused("without a key"));
  EXPECT_THAT(ParseListPage(List("<Contents><Key>a</Key></Contents>"), ""),
              is_refused("without a size"));
  EXPECT_THAT(ParseListPage(List("<Contents><Key>a</Key><Size>-1</Size></Contents>"), ""),
              is_refused("a size of \"-1\""));
  EXPECT_THAT(ParseListPage(List(Contents("b/x")), "a/"),
              is_refused("\"b/x\" in a list of what begins with \"a/\""));
  EXPECT_THAT(
      ParseListPage(List("<CommonPrefixes><Prefix>../</Prefix></CommonPrefixes>"), "a/"),
      is_refused("begins with"));
}

TEST(S3ListTest, EntitiesThatGrowAreRefused) {
  std::string bomb = "<!DOCTYPE l [<!ENTITY a \"aaaaaaaaaa\">";
  for (char c = 'b'; c < 'k'; ++c) {
    bomb += std::string("<!ENTITY ") + c + " \"";
    for (int i = 0; i < 10; ++i) bomb += std::string("&") + static_cast<char>(c - 1) + ";";
    bomb += "\">";
  }
  EXPECT_THAT(ParseListPage(bomb + "]><ListBucketResult>&j;</ListBucketResult>", ""),
              test::IsError(ErrorCode::kBadInput, HasSubstr("DOCTYPE")));
}

TEST(S3ListTest, DepthAndTextsAreBounded) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<a>";
  EXPECT_THAT(ParseListPage(List(deep), ""),
              test::IsError(ErrorCode::kBadInput, HasSubstr("16 levels")));
  EXPECT_THAT(ParseListPage(List(Contents(std::string(100'000, 'k'))), ""),
              test::IsError(ErrorCode::kBadInput, HasSubstr("a text of more than")));
}

TEST(S3ErrorAnswerTest, TellsCodeRegionAndTime) {
  const auto error = ParseErrorAnswer(
      "<Error><Code>PermanentRedirect</Code><Message>Elsewhere</Message>"
      "<Region>eu-west-1</Region><ServerTime>2013-05-24T00:00:00Z</ServerTime></Error>");
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, "PermanentRedirect");
  EXPECT_EQ(error->message, "Elsewhere");
  EXPECT_EQ(error->region, "eu-west-1");
  EXPECT_EQ(error->server_time_s, 1369353600);
  EXPECT_EQ(ParseErrorAnswer("<html/>"), std::nullopt);
  EXPECT_EQ(ParseErrorAnswer("Bad Gateway"), std::nullopt);
}

TEST(S3ErrorAnswerTest, OfStsIsInsideAnotherElement) {
  const auto error = ParseErrorAnswer(
      "<ErrorResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><Error>"
      "<Type>Sender</Type><Code>ExpiredTokenException</Code></Error></ErrorResponse>");
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, "ExpiredTokenException");
}

TEST(UtcTimeTest, OtherTextsAreNone) {
  EXPECT_EQ(ParseUtcTime("1970-01-01T00:00:01Z"), 1'000'000'000);
  for (const char* text : {"", "2013-05-24", "2013-13-24T00:00:00Z", "2013-05-24T00:00:00",
                           "2013-05-24T00:00:00+02:00", "0000-05-24T00:00:00Z",
                           "9999-05-24T00:00:00Z", "2013-05-2xT00:00:00Z"}) {
    EXPECT_EQ(ParseUtcTime(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace ndlfs::backends::object
