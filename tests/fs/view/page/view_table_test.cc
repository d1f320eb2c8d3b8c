// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cache/chunk_cache.h"
#include "fs/view/all_views.h"
#include "model/attributes.h"
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
  // kThree with attributes.
  void AddWith(const std::string& path, std::vector<model::Attribute> attributes) {
    auto& node = store_->AddArray(
        path, std::make_shared<test::MemoryArray>(kShort, std::vector<uint64_t>{3}, kThree));
    std::get<model::Ndarray>(node.entity).attributes = std::move(attributes);
  }
  static model::Attribute Number(std::string name, model::Value value) {
    model::Attribute attribute;
    attribute.name = std::move(name);
    attribute.type = value.real() ? Datatype::Float64() : Datatype::Integer(2, true);
    attribute.value = std::move(value);
    return attribute;
  }
  std::shared_ptr<const GroupInput> Group() { return *MakeGroupInput(store_, "/", cache_); }
  static std::string ReadAll(const View& view) {
    const auto size = view.FindSize();
    EXPECT_THAT(size, test::IsOk());
    EXPECT_EQ(view.size(), size.value_or(0));
    std::string out(size.value_or(0) + 10, '?');
    const auto count = view.Read(0, std::as_writable_bytes(std::span(out)));
    EXPECT_THAT(count, test::IsOk());
    out.resize(count.value_or(0));
    return out;
  }
  std::string Table(const std::string& name = "values.csv") {
    const auto group = Group();
    if (!GroupViews().Resolve(*group, name)) return "none";
    const auto view = GroupViews().MakeFile(*group, name);
    EXPECT_THAT(view, test::IsOk());
    return ReadAll(**view);
  }

  const Datatype kShort = Datatype::Integer(2, true);
  const std::string kThree =
      test::Raw(int16_t{1}) + test::Raw(int16_t{-20}) + test::Raw(int16_t{300});
  cache::ChunkCache cache_{1 << 20};
  std::shared_ptr<test::MemoryHierarchy> store_ = std::make_shared<test::MemoryHierarchy>();
};

TEST_F(TableTest, ArraysAreColumnsWithoutPadding) {
  Add("/a", kShort, 3, kThree);
  Add("/b,c", Datatype::Integer(1, false), 3, "\1\2\3");
  store_->AddGroup("/sub");
  EXPECT_EQ(Table(), "a,\"b,c\"\n1,1\n-20,2\n300,3\n");
  EXPECT_EQ(Table("table.csv"), Table()) << "another name";
  EXPECT_EQ(Table("data.csv"), Table());
}

TEST_F(TableTest, TextsWithCommasAndQuotesAreQuoted) {
  Add("/s", Datatype::FixedString(3, model::Charset::kAscii), 3, "abca,bx\"\"");
  EXPECT_EQ(Table(), "s\nabc\n\"a,b\"\n\"x\"\"\"\"\"\n");
}

TEST_F(TableTest, ALineThatWouldBeBlankIsAQuotedCell) {
  Add("/s", Datatype::FixedString(2, model::Charset::kAscii), 2, std::string("ab\0\0", 4));
  EXPECT_EQ(Table(), "s\nab\n\"\"\n");
}

TEST_F(TableTest, ValuesAreUnpackedAndMissingOnesEmpty) {
  Add("/n", Datatype::Float64(), 3, test::Raw(1.5) + test::Raw(std::nan("")) + test::Raw(2.0));
  AddWith("/packed", {Number("scale_factor", 0.5), Number("_FillValue", -20)});
  AddWith("/plain", {Number("_FillValue", 300)});
  AddWith("/t", {model::MakeTextAttribute("units", "hours since 2000-01-01"),
                 Number("_FillValue", -20)});
  EXPECT_EQ(Table(),
            "n,packed,plain,t\n"
            "1.5,0.5,1,2000-01-01T01:00:00\n"
            ",,-20,\n"
            "2.0,150.0,,2000-01-13T12:00:00\n");
  EXPECT_EQ(Table("data.csv"),
            "n,packed,plain,t\n1.5,1,1,1\nnan,-20,-20,-20\n2.0,300,300,300\n");
}

TEST_F(TableTest, FlagsAndEnumsAreNames) {
  Add("/e", Datatype::Enum(Datatype::Integer(1, false), {{"no", 1}, {"yes", 2}}), 3, "\1\2\3");
  model::Attribute values = Number("flag_values", 1);
  values.shape = {2};
  values.value = model::Value::List{1, 300};
  AddWith("/f", {values, model::MakeTextAttribute("flag_meanings", "a b"),
                 Number("_FillValue", -20)});
  EXPECT_EQ(Table(), "e,f\nno,a\nyes,\n3,b\n");
  EXPECT_EQ(Table("data.csv"), "e,f\n1,1\n2,-20\n3,300\n");
}

TEST_F(TableTest, EnumsThatAreMissingAreEmpty) {
  auto& node = store_->AddArray(
      "/e", std::make_shared<test::MemoryArray>(
                Datatype::Enum(Datatype::Integer(1, false), {{"no", 1}, {"none", 2}}),
                std::vector<uint64_t>{2}, "\1\2"));
  std::get<model::Ndarray>(node.entity).attributes = {Number("_FillValue", 2)};
  EXPECT_EQ(Table(), "e\nno\n\"\"\n");
  EXPECT_EQ(Table("data.csv"), "e\n1\n2\n");
}

TEST_F(TableTest, DatesOfAnyUnitAreIsoText) {
  Add("/d", Datatype::Time({.unit = "M"}), 3,
      test::Raw(int64_t{-1}) + test::Raw(std::numeric_limits<int64_t>::min()) +
          test::Raw(int64_t{361}));
  Add("/us", Datatype::Time({.unit = "us", .scale = 10}), 3,
      test::Raw(int64_t{0}) + test::Raw(int64_t{150'000}) + test::Raw(int64_t{-1}));
  EXPECT_EQ(Table(),
            "d,us\n1969-12-01T00:00:00,1970-01-01T00:00:00\n,1970-01-01T00:00:01.5\n"
            "2000-02-01T00:00:00,1969-12-31T23:59:59.99999\n");
}

TEST_F(TableTest, AnyPartIsThatOfTheWhole) {
  Add("/a", kShort, 3, kThree);
  Add("/s", Datatype::FixedString(2, model::Charset::kAscii), 3, "ab,,\"\"");
  const std::string whole = Table();
  const auto view = GroupViews().MakeFile(*Group(), "table.csv");
  ASSERT_THAT(view, test::IsOk());
  for (size_t from = 0; from < whole.size(); ++from) {
    std::string out(7, '?');
    const auto count = (*view)->Read(from, std::as_writable_bytes(std::span(out)));
    ASSERT_THAT(count, test::IsOk());
    EXPECT_EQ(out.substr(0, *count), whole.substr(from, 7));
  }
}

TEST_F(TableTest, ReadingOnIsThatOfTheWholeWhereRowsDifferInLength) {
  std::string numbers;
  for (int i = 0; i < 100; ++i)
    numbers += i % 2 == 0 ? test::Raw(int32_t{1234567}) : test::Raw(int32_t{1});
  Add("/a", Datatype::Integer(4, true), 100, numbers);
  const std::string whole = Table();
  const auto view = GroupViews().MakeFile(*Group(), "table.csv");
  ASSERT_THAT(view, test::IsOk());
  std::string out(33, '?');
  for (size_t from = 0; from < whole.size(); from += out.size()) {
    const auto count = (*view)->Read(from, std::as_writable_bytes(std::span(out)));
    ASSERT_THAT(count, test::IsOk());
    EXPECT_EQ(out.substr(0, *count), whole.substr(from, out.size()));
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
  ASSERT_TRUE(ArrayViews().Resolve(input, "table.csv"));
  const auto view = ArrayViews().MakeFile(input, "table.csv");
  ASSERT_THAT(view, test::IsOk());
  EXPECT_EQ(ReadAll(**view), "p.x,p.y,n\n-5,1,2\n6,3,4\n");
  EXPECT_EQ(Table(), "t.p.x,t.p.y,t.n\n-5,1,2\n6,3,4\n");
}

}  // namespace
}  // namespace ndlfs::fs
