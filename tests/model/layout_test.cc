// SPDX-License-Identifier: MIT
#include "model/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/ndl/ndl_writer.h"

namespace ndlfs::model {
namespace {

std::string LayoutText(const Datatype& type) {
  const auto layout = LayoutOf(type);
  return layout ? WriteFlow(*layout) : "none";
}

TEST(LayoutTest, SaysNothingThatTheDatatypeSays) {
  for (const Datatype& type :
       {Datatype::Float32(), Datatype::Bool(), Datatype::Complex(16), Datatype::Opaque(7),
        Datatype::Array(Datatype::Integer(2, true), {3}), Datatype::Time({"s", 1, false})}) {
    EXPECT_EQ(LayoutText(type), "none") << type.keyword();
  }
}

TEST(LayoutTest, ElementsOfVariableSizeHaveNone) {
  EXPECT_EQ(LayoutText(Datatype::String()), "none");
  EXPECT_EQ(LayoutText(Datatype::Vlen(Datatype::Float32())), "none");
  EXPECT_EQ(LayoutText(Datatype::PackedCompound({{"t", Datatype::String()}})), "none");
}

TEST(LayoutTest, TextTellsItsBytesAndTheirMeaning) {
  EXPECT_EQ(LayoutText(Datatype::FixedString(5, Charset::kAscii)), "{size: 5, charset: ascii}");
  EXPECT_EQ(LayoutText(Datatype::FixedString(5, Charset::kUtf8)), "{size: 5, charset: utf-8}");
  EXPECT_EQ(LayoutText(Datatype::FixedString(8, Charset::kUtf32)),
            "{size: 8, charset: utf-32}");
  EXPECT_EQ(LayoutText(Datatype::FixedString(5, Charset::kLatin1)),
            "{size: 5, charset: iso-8859-1}");
  EXPECT_EQ(LayoutText(Datatype::Array(Datatype::FixedString(2, Charset::kAscii), {3})),
            "{size: 6, item: {size: 2, charset: ascii}}");
}

TEST(LayoutTest, CompoundsTellWhereTheirMembersAre) {
  const auto wind =
      Datatype::PackedCompound({{"u", Datatype::Float32()}, {"v", Datatype::Float32()}});
  const auto type = Datatype::Compound({{"y", Datatype::Integer(1, true), 0},
                                        {"wind", wind, 4},
                                        {"z", Datatype::Complex(8), 16}},
                                       32);
  EXPECT_EQ(LayoutText(type),
            "{size: 32, members: {\"y\": {offset: 0, size: 1}, wind: {offset: 4, size: 8, "
            "members: {u: {offset: 0, size: 4}, v: {offset: 4, size: 4}}}, z: {offset: 16, "
            "size: 8}}}");
}

}  // namespace
}  // namespace ndlfs::model
