// SPDX-License-Identifier: MIT
#include "backends/store/object/folder_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/result.h"

namespace ndlfs::backends::object {
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

model::Result<ListPage> NamePage(KeyPage list, std::string_view folder,
                                 const PageStart& start) {
  return ToNamePage(std::move(list), folder, start, InfoByTag);
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

TEST(FolderListTest, NamesBelowTheFolder) {
  EXPECT_THAT(Names(NamePage(Page({"d/b", "d/a"}, {"d/c/"}), "d/", {}).value()),
              ElementsAre("a", "b", "c/"));
}

TEST(FolderListTest, AMarkerAloneShowsThatThereIsADirectory) {
  EXPECT_TRUE(NamePage(Page({"d/"}, {}), "d/", {})->is_directory);
  EXPECT_FALSE(NamePage(Page({}, {}), "d/", {})->is_directory);
}

TEST(FolderListTest, NamesThatNoFileHasAreLeftOut) {
  const auto page = NamePage(Page({"d/", "d/.", "d/..", std::string("d/a\0b", 5), "d/ok"},
                                  {"d//", "d/./", "d/../", "d/x/"}),
                             "d/", {});
  EXPECT_THAT(Names(page.value()), ElementsAre("ok", "x/"));
}

TEST(FolderListTest, TheSameKeyTwiceIsOneName) {
  EXPECT_THAT(Names(NamePage(Page({"a", "a", "a"}, {"b/", "b/"}), "", {}).value()),
              ElementsAre("a", "b/"));
}

TEST(FolderListTest, PrefixHidesTheObjectOfItsName) {
  EXPECT_THAT(Names(NamePage(Page({"a", "a.b"}, {"a/"}), "", {}).value()),
              ElementsAre("a/", "a.b"));
}

TEST(FolderListTest, KindIsOpenWhereThePrefixMayComeOnTheNextPage) {
  const auto first = NamePage(Page({"a", "a-b", "a.b"}, {}, "t"), "", {}).value();
  EXPECT_THAT(Names(first), ElementsAre("a?", "a-b", "a.b?"));
  ASSERT_TRUE(first.next);
  const auto second = NamePage(Page({"b"}, {"a/"}), "", *first.next).value();
  EXPECT_THAT(Names(second), ElementsAre("b"));
  const auto third = NamePage(Page({"b"}, {}, "u"), "", *first.next).value();
  EXPECT_THAT(third.next->open_names, ElementsAre("b"));
}

TEST(FolderListTest, PageThatGoesBackIsRefused) {
  const PageStart start = {.token = "t", .last_key = "m", .last_name = "m"};
  EXPECT_THAT(NamePage(Page({"m"}, {}), "", start),
              test::IsError(ErrorCode::kBadInput, HasSubstr("goes back from \"m\" to \"m\"")));
  EXPECT_THAT(NamePage(Page({"z"}, {"a/"}), "", start),
              test::IsError(ErrorCode::kBadInput, HasSubstr("goes back")));
  EXPECT_THAT(NamePage(Page({}, {}), "", start), test::IsOk());
}

TEST(FolderListTest, PagesMayComeInTheOrderOfNames) {
  const auto first = NamePage(Page({"a"}, {"en/"}, "t"), "", {}).value();
  EXPECT_THAT(Names(first), ElementsAre("a", "en/"));
  const auto second = NamePage(Page({"en.txt"}, {"en-GB/"}, "u"), "", *first.next).value();
  EXPECT_THAT(Names(second), ElementsAre("en-GB/", "en.txt"));
  EXPECT_THAT(second.next->open_names, IsEmpty());
  EXPECT_THAT(Names(NamePage(Page({}, {"en/x/"}), "en/", {}).value()), ElementsAre("x/"));
  EXPECT_THAT(NamePage(Page({}, {"en-GB/"}), "", *second.next),
              test::IsError(ErrorCode::kBadInput, HasSubstr("goes back")));
}

// By turns in one order and in the other, a list could go on for ever.
TEST(FolderListTest, PagesThatChangeTheirOrderAreRefused) {
  const auto first = NamePage(Page({}, {"a/"}, "t"), "", {}).value();
  const auto second = NamePage(Page({}, {"a-b/"}, "u"), "", *first.next).value();
  EXPECT_THAT(NamePage(Page({}, {"a/"}, "v"), "", *second.next),
              test::IsError(ErrorCode::kBadInput, HasSubstr("goes back")));
}

}  // namespace
}  // namespace ndlfs::backends::object
