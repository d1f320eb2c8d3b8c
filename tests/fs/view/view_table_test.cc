// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cache/chunk_cache.h"
#include "fs/view/view_provider.h"
#include "tests/support/memory_hierarchy.h"
#include "tests/support/result.h"

namespace ndlfs::fs {
namespace {

using model::Datatype;

class TableTest : public ::testing::Test {
 protected:
  void SetUp() override { store_->AddGroup("/"); }

  void Add(const std::string& path, const Datatype& type, uint64_t count,
           std::string elements) {
    store_->AddArray(path, std::make_shared<test::MemoryArray>(
                               type, std::vector<uint64_t>{count}, std::move(elements)));
  }
  std::shared_ptr<const GroupInput> Group() { return *MakeGroupInput(store_, "/", cache_); }
  static std::string ReadAll(const View& view) {
    std::string out(view.size().value() + 10, '?');
    const auto count = view.Read(0, std::as_writable_bytes(std::span(out)));
    EXPECT_THAT(count, test::IsOk());
    out.resize(count.value_or(0));
    return out;
  }
  std::string Table() {
    const auto group = Group();
    if (!GroupViews().Find(*group, "table.csv")) return "none";
    const auto view = GroupViews().Make(*group, "table.csv");
    EXPECT_THAT(view, test::IsOk());
    return ReadAll(**view);
  }

  const Datatype kShort = Datatype::Integer(2, true);
  const std::string kThree =
      test::Raw(int16_t{1}) + test::Raw(int16_t{-20}) + test::Raw(int16_t{300});
  cache::ChunkCache cache_{1 << 20};
  std::shared_ptr<test::MemoryHierarchy> store_ = std::make_shared<test::MemoryHierarchy>();
};

TEST_F(TableTest, ArraysAreColumnsOfEqualWidth) {
  Add("/a", kShort, 3, kThree);
  Add("/b,c", Datatype::Integer(1, false), 3, "\1\2\3");
  store_->AddGroup("/sub");
  EXPECT_EQ(Table(), "a,\"b,c\"\n     1,  1\n   -20,  2\n   300,  3\n");
}

TEST_F(TableTest, TextsWithCommasAndQuotesAreQuoted) {
  Add("/s", Datatype::FixedString(3, model::Charset::kAscii), 3, "abca,bx\"\"");
  EXPECT_EQ(Table(), "s\nabc     \n\"a,b   \"\n\"x\"\"\"\" \"\n");
}

TEST_F(TableTest, AnyPartIsThatOfTheWhole) {
  Add("/a", kShort, 3, kThree);
  Add("/s", Datatype::FixedString(2, model::Charset::kAscii), 3, "ab,,\"\"");
  const std::string whole = Table();
  const auto view = GroupViews().Make(*Group(), "table.csv");
  ASSERT_THAT(view, test::IsOk());
  for (size_t from = 0; from < whole.size(); ++from) {
    std::string out(7, '?');
    const auto count = (*view)->Read(from, std::as_writable_bytes(std::span(out)));
    ASSERT_THAT(count, test::IsOk());
    EXPECT_EQ(out.substr(0, *count), whole.substr(from, 7));
  }
}

TEST_F(TableTest, OtherLengthsAndShapesAreNoTable) {
  EXPECT_EQ(Table(), "none") << "no arrays";
  Add("/a", kShort, 3, kThree);
  Add("/b", Datatype::Integer(1, false), 2, "\1\2");
  EXPECT_EQ(Table(), "none");
}

TEST_F(TableTest, ArraysThatAreNoTextAreNoTable) {
  Add("/a", kShort, 3, kThree);
  Add("/o", Datatype::Opaque(1), 3, "xyz");
  EXPECT_EQ(Table(), "none");
}

TEST_F(TableTest, StructsAreRows) {
  const Datatype point =
      Datatype::PackedCompound({{"x", kShort}, {"y", Datatype::Integer(1, true)}});
  const Datatype type =
      Datatype::PackedCompound({{"p", point}, {"n", Datatype::Integer(1, false)}});
  Add("/t", type, 2, test::Raw(int16_t{-5}) + "\1\2" + test::Raw(int16_t{6}) + "\3\4");
  const ArrayInput input = Group()->Load("t")->array.value();
  ASSERT_TRUE(ArrayViews().Find(input, "table.csv"));
  const auto view = ArrayViews().Make(input, "table.csv");
  ASSERT_THAT(view, test::IsOk());
  EXPECT_EQ(ReadAll(**view), "p.x,p.y,n\n    -5,   1,  2\n     6,   3,  4\n");
  EXPECT_EQ(Table(), "t.p.x,t.p.y,t.n\n    -5,   1,  2\n     6,   3,  4\n");
}

}  // namespace
}  // namespace ndlfs::fs
