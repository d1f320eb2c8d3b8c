// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/bounded_map.h"
#include "model/string_hash.h"
#include "model/weak_map.h"

namespace ndlfs::model {
namespace {

using ::testing::Pointee;

using Numbers = BoundedMap<std::string, int, StringHash>;

TEST(BoundedMapTest, DropsWhatWasUsedLongestAgo) {
  Numbers map(2);
  map.Put("a", 1);
  map.Put("b", 2);
  EXPECT_THAT(map.Find(std::string_view("a")), Pointee(1));
  map.Put("c", 3);
  EXPECT_EQ(map.Find("b"), nullptr);
  EXPECT_THAT(map.Find("a"), Pointee(1));
  EXPECT_THAT(map.Find("c"), Pointee(3));
  EXPECT_EQ(map.size(), 2u);
}

TEST(BoundedMapTest, IsBoundByWeight) {
  Numbers map(10);
  map.Put("a", 1, 4);
  map.Put("b", 2, 4);
  map.Put("c", 3, 7);
  EXPECT_EQ(map.size(), 1u);
  EXPECT_EQ(map.total_weight(), 7u);
  map.Put("c", 4, 2);
  EXPECT_EQ(map.total_weight(), 2u) << "another value of the same key replaces it";
  EXPECT_THAT(map.Find("c"), Pointee(4));
  map.Erase("c");
  map.Erase("none");
  EXPECT_EQ(map.total_weight(), 0u);
}

TEST(BoundedMapTest, KeepsTheLatestHoweverHeavy) {
  Numbers map(10);
  map.Put("a", 1, 5);
  map.Put("b", 2, 100);
  EXPECT_EQ(map.size(), 1u);
  EXPECT_THAT(map.Find("b"), Pointee(2));
  map.Put("c", 3, 1);
  EXPECT_EQ(map.Find("b"), nullptr);
  EXPECT_THAT(map.Find("c"), Pointee(3));
}

using Objects = WeakMap<std::string, const int, char, StringHash>;

TEST(WeakMapTest, FindsObjectsAsLongAsSomebodyKeepsThem) {
  Objects map(16);
  auto object = std::make_shared<const int>(7);
  map.Put("a", object, 'x');
  const auto* entry = map.Find(std::string_view("a"));
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->object.lock(), object);
  EXPECT_EQ(entry->note, 'x');
  EXPECT_EQ(map.Find("b"), nullptr);
  object.reset();
  ASSERT_NE(map.Find("a"), nullptr);
  EXPECT_EQ(map.Find("a")->object.lock(), nullptr);
}

TEST(WeakMapTest, ReplacesAnEntryAndItsNoteCanBeChanged) {
  Objects map(16);
  const auto first = std::make_shared<const int>(1), second = std::make_shared<const int>(2);
  map.Put("a", first, 'x');
  map.Put("a", second, 'y');
  EXPECT_EQ(map.size(), 1u);
  EXPECT_EQ(map.Find("a")->object.lock(), second);
  map.Find("a")->note = 'z';
  EXPECT_EQ(std::as_const(map).Find("a")->note, 'z');
}

TEST(WeakMapTest, ForgetsWhatIsGone) {
  Objects map(16);
  std::vector<std::shared_ptr<const int>> kept;
  for (int i = 0; i < 1000; ++i) {
    auto object = std::make_shared<const int>(i);
    map.Put(std::to_string(i), object, 'x');
    if (i % 100 == 0) kept.push_back(std::move(object));
  }
  EXPECT_LE(map.size(), 32u);
  int seen = 0;
  map.ForEach([&](const std::shared_ptr<const int>& object) { seen += *object % 100 == 0; });
  EXPECT_EQ(seen, 10) << "none that lives is forgotten";
}

}  // namespace
}  // namespace ndlfs::model
