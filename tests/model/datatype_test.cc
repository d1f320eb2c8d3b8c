// SPDX-License-Identifier: MIT
#include "model/datatype.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ndlfs::model {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(DatatypeTest, PackedCompoundPlacesMembersWithoutGaps) {
  const auto type =
      Datatype::PackedCompound({{"a", Datatype::Integer(1, true)}, {"b", Datatype::Float64()}});
  EXPECT_EQ(type.size(), 9u);
  EXPECT_EQ(type.members()[1].offset, 1u);
  EXPECT_EQ(type.depth(), 2);
}

TEST(DatatypeTest, WhateverHoldsAVlenIsOfVariableSize) {
  const auto text = Datatype::String();
  EXPECT_FALSE(Datatype::PackedCompound({{"s", text}}).is_fixed_size());
  EXPECT_FALSE(Datatype::Array(text, {3}).is_fixed_size());
  EXPECT_TRUE(Datatype::Array(Datatype::Float32(), {3}).is_fixed_size());
}

TEST(DatatypeTest, EqualityIsThatOfTheLanguageNotOfTheLayout) {
  const auto little = Datatype::Integer(4, true, ByteOrder::kLittle);
  const auto big = Datatype::Integer(4, true, ByteOrder::kBig);
  EXPECT_EQ(little, big);
  EXPECT_FALSE(little.SameLayout(big));
  EXPECT_TRUE(little.SameLayout(big.WithOrder(ByteOrder::kLittle)));
  EXPECT_FALSE(little == Datatype::Integer(4, false));
  EXPECT_FALSE(Datatype::Integer(8, true) == Datatype::Time({"s", 1, false}));
}

TEST(DatatypeTest, FromKeywordKnowsEveryNumberOfTheLanguage) {
  for (const char* word : {"int8", "uint8", "int16", "uint16", "int32", "uint32", "int64",
                           "uint64", "float32", "float64", "float16", "bfloat16"}) {
    const auto type = Datatype::FromKeyword(word);
    ASSERT_TRUE(type) << word;
    EXPECT_EQ(type->keyword(), word);
  }
  EXPECT_FALSE(Datatype::FromKeyword("int128"));
  EXPECT_FALSE(Datatype::FromKeyword("string"));
}

TEST(DatatypeTest, RecognizesBoolAndComplexByTheirStructure) {
  EXPECT_TRUE(Datatype::Bool().is_bool());
  EXPECT_FALSE(
      Datatype::Enum(Datatype::Integer(2, true), {{"FALSE", 0}, {"TRUE", 1}}).is_bool());
  EXPECT_TRUE(Datatype::Complex(8).is_complex());
  EXPECT_TRUE(Datatype::Complex(16, ByteOrder::kBig).is_complex());
  EXPECT_FALSE(
      Datatype::PackedCompound({{"r", Datatype::Float32()}, {"j", Datatype::Float32()}})
          .is_complex());
}

TEST(PlanByteSwapTest, FindsTheNumbersOfOtherOrderInNestedTypes) {
  const auto big = ByteOrder::kBig;
  const auto inner = Datatype::PackedCompound(
      {{"x", Datatype::Integer(2, true, big)}, {"y", Datatype::Float32()}});
  const auto type = Datatype::Compound(
      {{"tag", Datatype::Integer(1, false), 0},
       {"v", Datatype::Array(Datatype::Float64(big), {2, 2}), 8},
       {"n", Datatype::Array(inner, {2}), 40},
       {"u", Datatype::FixedString(8, Charset::kUtf32, TextPadding::kNull, big), 52}},
      60);
  const auto runs = PlanByteSwap(type, ByteOrder::kLittle).value();
  ASSERT_EQ(runs.size(), 4u);
  EXPECT_EQ(runs[0].offset, 8u);
  EXPECT_EQ(runs[0].width, 8u);
  EXPECT_EQ(runs[0].count, 4u);
  EXPECT_EQ(runs[1].offset, 40u);
  EXPECT_EQ(runs[2].offset, 46u);
  EXPECT_EQ(runs[3].offset, 52u);
  EXPECT_EQ(runs[3].width, 4u);
  EXPECT_EQ(runs[3].count, 2u);
}

TEST(PlanByteSwapTest, LongArraysOfNumbersAreOneRun) {
  const auto number = Datatype::Integer(8, true, ByteOrder::kBig);
  const auto rows = Datatype::Array(Datatype::Array(number, {1 << 14}), {1 << 14});
  const auto type = Datatype::Compound(
      {{"tag", Datatype::Integer(1, false), 0}, {"v", rows, 3}}, rows.size() + 3);
  const auto runs = PlanByteSwap(type, ByteOrder::kLittle).value();
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].offset, 3u);
  EXPECT_EQ(runs[0].width, 8u);
  EXPECT_EQ(runs[0].count, size_t{1} << 28);
}

TEST(PlanByteSwapTest, IsEmptyWhenNothingIsToBeDone) {
  EXPECT_THAT(PlanByteSwap(Datatype::Float64(), ByteOrder::kLittle).value(), IsEmpty());
  EXPECT_THAT(PlanByteSwap(Datatype::Bool(), ByteOrder::kBig).value(), IsEmpty());
}

TEST(PlanByteSwapTest, RefusesOverlapsAndEndlessRuns) {
  const auto part = Datatype::Integer(4, true, ByteOrder::kBig);
  const auto overlapping = Datatype::Compound({{"a", part, 0}, {"b", part, 2}}, 6);
  EXPECT_THAT(PlanByteSwap(overlapping, ByteOrder::kLittle).error().message(),
              HasSubstr("overlapping members"));
  const auto pair = Datatype::PackedCompound({{"a", part}, {"b", Datatype::Float32()}});
  EXPECT_THAT(
      PlanByteSwap(Datatype::Array(pair, {3'000'000}), ByteOrder::kLittle).error().message(),
      HasSubstr("more than 1000000"));
}

}  // namespace
}  // namespace ndlfs::model
