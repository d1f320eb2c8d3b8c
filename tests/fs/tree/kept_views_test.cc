// SPDX-License-Identifier: MIT
#include "fs/tree/store/kept_views.h"

#include <gtest/gtest.h>

#include <string>

#include "fs/view/elements/segmented_view.h"

namespace ndlfs::fs {
namespace {

EntityViewPtr MakeView(const std::string& name, uint64_t generation = 1, size_t bytes = 1) {
  auto view = std::make_shared<EntityView>();
  view->name = name;
  view->generation = generation;
  view->node = MakeSegmentedView({Literal(std::string(bytes, 'x'))}).value();
  return view;
}

TEST(KeptViewsTest, ViewIsFoundByItsName) {
  KeptViews views;
  EXPECT_EQ(views.Find("data.npy"), nullptr);
  const auto view = MakeView("data.npy");
  EXPECT_EQ(views.Keep(view), view);
  EXPECT_EQ(views.Find("data.npy"), view);
  EXPECT_EQ(views.Find("data.raw"), nullptr);
  EXPECT_GE(views.held_bytes(), 1u);
}

TEST(KeptViewsTest, ViewThatIsMadeTwiceIsKeptOnce) {
  KeptViews views;
  const auto first = views.Keep(MakeView("a", 1));
  EXPECT_EQ(views.Keep(MakeView("a", 1)), first);
  const auto changed = MakeView("a", 2);
  EXPECT_EQ(views.Keep(changed), changed);
  EXPECT_EQ(views.Find("a"), changed);
}

TEST(KeptViewsTest, OfManyTheLatestAreKept) {
  KeptViews views;
  for (int i = 0; i < 100; ++i) {
    views.Keep(MakeView(std::to_string(i)));
    EXPECT_NE(views.Find("0"), nullptr) << "it is used again and again";
  }
  EXPECT_NE(views.Find("99"), nullptr);
  EXPECT_NE(views.Find("80"), nullptr);
  EXPECT_EQ(views.Find("60"), nullptr);
}

TEST(KeptViewsTest, OfLargeOnesFewAreKept) {
  constexpr size_t kLarge = size_t{5} << 20;
  KeptViews views;
  for (int i = 0; i < 10; ++i) views.Keep(MakeView(std::to_string(i), 1, kLarge));
  EXPECT_NE(views.Find("9"), nullptr);
  EXPECT_LE(views.held_bytes(), 3 * kLarge);
  views.Keep(MakeView("huge", 1, 10 * kLarge));
  EXPECT_NE(views.Find("huge"), nullptr) << "the latest one is always kept";
  views.Keep(MakeView("small"));
  EXPECT_EQ(views.Find("huge"), nullptr);
}

TEST(KeptViewsTest, ViewsThatGrowWithTheirArrayAreFewToo) {
  constexpr size_t kLarge = size_t{5} << 20;
  KeptViews views;
  for (int i = 0; i < 10; ++i) views.Keep(MakeView(std::to_string(i)));
  for (int i = 0; i < 10; ++i) views.Keep(MakeView(std::to_string(i), 2, kLarge));
  EXPECT_NE(views.Find("9"), nullptr);
  EXPECT_LE(views.held_bytes(), 3 * kLarge);
}

}  // namespace
}  // namespace ndlfs::fs
