// SPDX-License-Identifier: MIT
#include "fs/compare/array_difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/support/memory_hierarchy.h"
#include "tests/support/result.h"

namespace ndlfs::fs {
namespace {

using model::Datatype;

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

template <typename Number>
std::shared_ptr<const test::MemoryArray> ArrayOf(const Datatype& type,
                                                 const std::vector<Number>& numbers) {
  std::string bytes;
  for (const Number number : numbers) bytes += test::Raw(number);
  return std::make_shared<test::MemoryArray>(
      type, std::vector<uint64_t>{bytes.size() / type.size()}, bytes);
}

model::Result<ElementDifferences> Compare(std::shared_ptr<const backends::ArraySource> a,
                                          std::shared_ptr<const backends::ArraySource> b,
                                          const Tolerance& tolerance = {}) {
  cache::ChunkCache cache(uint64_t{1} << 20);
  const auto reader_a = std::make_shared<const cache::ArrayReader>(std::move(a), cache);
  const auto reader_b = std::make_shared<const cache::ArrayReader>(std::move(b), cache);
  NDLFS_TRY(const auto difference, ArrayDifference::Make(reader_a, reader_b, tolerance));
  for (uint64_t block = 0; block < difference->block_count(); ++block) {
    NDLFS_RETURN_IF_ERROR(difference->Run(block));
  }
  return difference->found();
}

ElementDifferences CompareDoubles(const std::vector<double>& a, const std::vector<double>& b,
                                  const Tolerance& tolerance = {}) {
  return Compare(ArrayOf(Datatype::Float64(), a), ArrayOf(Datatype::Float64(), b), tolerance)
      .value();
}

TEST(ArrayDifferenceTest, TellsHowManyWhereAndHowMuch) {
  const auto found = CompareDoubles({1, 2, 100, 4}, {1, 2.5, 101, 4});
  EXPECT_EQ(found.count, 2u);
  ASSERT_TRUE(found.first);
  EXPECT_EQ(found.first->at, 1u);
  EXPECT_EQ(found.first->a, "2.0");
  EXPECT_EQ(found.first->b, "2.5");
  EXPECT_EQ(found.absolute->size, 1);
  EXPECT_EQ(found.absolute->at, 2u);
  EXPECT_EQ(found.relative->size, 0.2);
  EXPECT_EQ(found.relative->at, 1u);
}

TEST(ArrayDifferenceTest, TreatsZerosNansAndInfinitiesAsNumpyDoes) {
  const std::vector<double> a = {0.0, kNotANumber, kInfinite, kInfinite, 1.0};
  const std::vector<double> b = {-0.0, -kNotANumber, kInfinite, -kInfinite, kNotANumber};
  const auto found = CompareDoubles(a, b);
  EXPECT_EQ(found.count, 2u);
  EXPECT_EQ(found.nan_on_one_side, 1u);
  EXPECT_FALSE(found.absolute) << "no two finite numbers differ";
  EXPECT_EQ(CompareDoubles(a, b, {.absolute = 1e300, .relative = 1e300}).count, 2u);
  EXPECT_EQ(CompareDoubles(a, b, {.nan_differs = true}).count, 3u);
  EXPECT_EQ(CompareDoubles(a, a, {.nan_differs = true}).count, 1u);
  EXPECT_EQ(CompareDoubles(a, b, {.by_bits = true}).count, 4u);
}

TEST(ArrayDifferenceTest, ComparesNumbersOfDifferentTypesExactly) {
  const auto integers =
      ArrayOf<uint64_t>(Datatype::Integer(8, false), {(uint64_t{1} << 53) + 1, UINT64_MAX, 3});
  const auto doubles =
      ArrayOf<double>(Datatype::Float64(), {9007199254740992.0, 1.8446744073709552e19, 3.0});
  EXPECT_EQ(Compare(integers, doubles)->count, 2u);
  const auto is_signed =
      ArrayOf<int64_t>(Datatype::Integer(8, true), {(int64_t{1} << 53) + 1, -1, 3});
  EXPECT_EQ(Compare(integers, is_signed)->count, 1u);
  EXPECT_EQ(Compare(integers, is_signed)->absolute->size, 18446744073709551616.0);
  const auto small = ArrayOf<int8_t>(Datatype::Integer(1, true), {1, -1, 3});
  EXPECT_EQ(Compare(small, doubles)->count, 2u);
}

TEST(ArrayDifferenceTest, ComparesHalfFloatsAndComplexNumbers) {
  const auto half = ArrayOf<uint16_t>(*Datatype::FromKeyword("float16"), {0x3C00, 0x4000});
  EXPECT_EQ(Compare(half, ArrayOf<float>(Datatype::Float32(), {1.0f, 2.5f}))->count, 1u);
  const auto complex = ArrayOf<float>(Datatype::Complex(8), {1, 2, 3, 4});
  const auto wide = ArrayOf<double>(Datatype::Complex(16), {1, 2, 3, 4.5});
  const auto found = Compare(complex, wide);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->count, 1u);
  EXPECT_EQ(found->absolute->size, 0.5);
}

TEST(ArrayDifferenceTest, RefusesTypesThatCannotBeCompared) {
  const auto text = std::make_shared<test::MemoryArray>(
      Datatype::FixedString(1, model::Charset::kAscii), std::vector<uint64_t>{1}, "a");
  const auto number = ArrayOf<int8_t>(Datatype::Integer(1, true), {1});
  EXPECT_THAT(Compare(text, number),
              test::IsError(model::ErrorCode::kUnsupported, testing::HasSubstr("compared")));
  const auto time = ArrayOf<int64_t>(Datatype::Time({"s", 1, false}), {1});
  EXPECT_FALSE(Compare(time, ArrayOf<int64_t>(Datatype::Time({"ms", 1, false}), {1})));
  EXPECT_FALSE(Compare(time, ArrayOf<int64_t>(Datatype::Integer(8, true), {1})));
  EXPECT_EQ(Compare(time, time)->count, 0u);
}

TEST(ArrayDifferenceTest, TellsWhichArrayDoesNotDecode) {
  const auto good = ArrayOf<float>(Datatype::Float32(), {1, 2, 3, 4});
  const auto bad = test::Undecodable(Datatype::Float32(), {4});
  EXPECT_THAT(Compare(good, bad), test::IsError(model::ErrorCode::kCorrupt,
                                                testing::HasSubstr("second: chunk 0: ")));
  EXPECT_THAT(Compare(bad, good), test::IsError(model::ErrorCode::kCorrupt,
                                                testing::HasSubstr("first: chunk 0: ")));
}

TEST(ArrayDifferenceTest, KeepsLongElementsAsDigests) {
  std::string text(20'000, 'x');
  const auto type = Datatype::String();
  const auto array = [&](const std::string& element) {
    return std::make_shared<test::MemoryArray>(
        type, std::vector<uint64_t>{2},
        test::ElementStream({test::Counted("a"), test::Counted(element)}));
  };
  EXPECT_EQ(Compare(array(text), array(text))->count, 0u);
  const auto first = array(text);
  text.back() = 'y';
  const auto found = Compare(first, array(text));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->first->at, 1u);
  EXPECT_EQ(found->first->a, "(long)");
}

}  // namespace
}  // namespace ndlfs::fs
