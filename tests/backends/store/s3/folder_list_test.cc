// SPDX-License-Identifier: MIT
#include "backends/store/s3/folder_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/result.h"

namespace ndlfs::backends::s3 {
namespace {

using model::ErrorCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

KeyPage Page(const std::vector<std::string>& keys, const std::vector<std::string>& prefixes,
             const std::string& next_token = "") {
  KeyPage page;
  for (const std::string& key : keys) page.objects.push_back({key, 1, "\"e\"", 0});
  page.prefixes = prefixes;
  page.next_token = next_token;
  return page;
}

// "name", "name/" of a directory, "name?" of what is not known yet.
std::vector<std::string> Names(const ListPage& page) {
  std::vector<std::string> names;
  for (const ListedObject& name : page.objects) {
    const bool is_directory = name.is_directory();
    names.push_back(name.name + (is_directory                      ? "/"
                                 : name.kind == FileKind::kUnknown ? "?"
                                                                   : ""));
  }
  return names;
}

TEST(S3FolderListTest, NamesBelowTheFolder) {
  EXPECT_THAT(Names(ToNamePage(Page({"d/b", "d/a"}, {"d/c/"}), "d/", {}).value()),
              ElementsAre("a", "b", "c/"));
}

TEST(S3FolderListTest, AMarkerAloneShowsThatThereIsADirectory) {
  EXPECT_TRUE(ToNamePage(Page({"d/"}, {}), "d/", {})->is_directory);
  EXPECT_FALSE(ToNamePage(Page({}, {}), "d/", {})->is_directory);
}

TEST(S3FolderListTest, NamesThatNoFileHasAreLeftOut) {
  const auto page = ToNamePage(Page({"d/", "d/.", "d/..", std::string("d/a\0b", 5), "d/ok"},
                                    {"d//", "d/./", "d/../", "d/x/"}),
                               "d/", {});
  EXPECT_THAT(Names(page.value()), ElementsAre("ok", "x/"));
}

TEST(S3FolderListTest, TheSameKeyTwiceIsOneName) {
  EXPECT_THAT(Names(ToNamePage(Page({"a", "a", "a"}, {"b/", "b/"}), "", {}).value()),
              ElementsAre("a", "b/"));
}

TEST(S3FolderListTest, PrefixHidesTheObjectOfItsName) {
  EXPECT_THAT(Names(ToNamePage(Page({"a", "a.b"}, {"a/"}), "", {}).value()),
              ElementsAre("a/", "a.b"));
}

TEST(S3FolderListTest, KindIsOpenWhereThePrefixMayComeOnTheNextPage) {
  const auto first = ToNamePage(Page({"a", "a-b", "a.b"}, {}, "t"), "", {}).value();
  EXPECT_THAT(Names(first), ElementsAre("a?", "a-b", "a.b?"));
  ASSERT_TRUE(first.next);
  const auto second = ToNamePage(Page({"b"}, {"a/"}), "", *first.next).value();
  EXPECT_THAT(Names(second), ElementsAre("b"));
  const auto third = ToNamePage(Page({"b"}, {}, "u"), "", *first.next).value();
  EXPECT_THAT(third.next->open_names, ElementsAre("b"));
}

TEST(S3FolderListTest, PageThatGoesBackIsRefused) {
  const PageStart start = {"t", "m", {}};
  EXPECT_THAT(ToNamePage(Page({"m"}, {}), "", start),
              test::IsError(ErrorCode::kBadInput, HasSubstr("goes back from \"m\" to \"m\"")));
  EXPECT_THAT(ToNamePage(Page({"z"}, {"a/"}), "", start),
              test::IsError(ErrorCode::kBadInput, HasSubstr("goes back")));
  EXPECT_THAT(ToNamePage(Page({}, {}), "", start), test::IsOk());
}

}  // namespace
}  // namespace ndlfs::backends::s3
