// SPDX-License-Identifier: MIT
#include "backends/format/flat_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/memory_store.h"
#include "tests/support/read_array.h"

namespace ndlfs::backends {
namespace {

using model::ByteOrder;
using model::Datatype;
using ::testing::HasSubstr;

constexpr uint64_t kMaxChunk = uint64_t{1} << 30;

std::string Number(uint64_t value, size_t bytes, ByteOrder order) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  if (order == ByteOrder::kBig) std::reverse(text.begin(), text.end());
  return text;
}

// The numbers 0, 1, 2 ... of 4 bytes.
std::string Count(uint64_t count, ByteOrder order = ByteOrder::kLittle) {
  std::string text;
  for (uint64_t i = 0; i < count; ++i) text += Number(i, 4, order);
  return text;
}

// `data` as records of `each` bytes.
std::string Records(const std::string& data, size_t each, ByteOrder order) {
  std::string file;
  for (size_t at = 0; at < data.size(); at += each) {
    const std::string marker = Number(each, 4, order);
    file += marker + data.substr(at, each) + marker;
  }
  return file;
}

FlatLayout Layout(const std::string& file, std::vector<uint64_t> shape,
                  ByteOrder order = ByteOrder::kLittle) {
  auto store = std::make_shared<test::MemoryStore>();
  store->Put("a", file);
  FlatLayout layout;
  layout.store = std::move(store);
  layout.key = "a";
  layout.stored = Datatype::Integer(4, true, order);
  layout.shape = std::move(shape);
  return layout;
}

std::string ErrorOf(FlatLayout layout) {
  const auto source = MakeFlatSource(std::move(layout), kMaxChunk);
  return source ? test::ReadThroughChunks(**source) : source.error().message();
}

TEST(FlatSourceTest, RangesBeginAtTheOffsetInTheOrderOfTheFile) {
  FlatLayout layout = Layout("header" + Count(6, ByteOrder::kBig), {2, 3}, ByteOrder::kBig);
  layout.offset = 6;
  const auto source = MakeFlatSource(layout, kMaxChunk);
  ASSERT_TRUE(source);
  EXPECT_EQ(test::ReadThroughRange(**source), Count(6));
  EXPECT_EQ(test::ReadThroughChunks(**source), Count(6));
}

TEST(FlatSourceTest, FortranOrderIsTransposed) {
  FlatLayout layout = Layout(Count(6), {2, 3});
  layout.fortran_order = true;
  const auto source = MakeFlatSource(layout, kMaxChunk);
  ASSERT_TRUE(source);
  EXPECT_FALSE((*source)->contiguous());
  std::string expected;
  for (const uint64_t i : {0, 2, 4, 1, 3, 5}) expected += Number(i, 4, ByteOrder::kLittle);
  EXPECT_EQ(test::ReadThroughChunks(**source), expected);
}

TEST(FlatSourceTest, AShortFileIsCorrupt) {
  EXPECT_EQ(ErrorOf(Layout(Count(5), {2, 3})), "20 bytes of data, the shape needs 24");
  FlatLayout beyond = Layout(Count(6), {2, 3});
  beyond.offset = UINT64_MAX;
  EXPECT_EQ(ErrorOf(beyond), "0 bytes of data, the shape needs 24");
}

TEST(FlatSourceTest, AFileThatIsAbsentIsNotFound) {
  FlatLayout layout = Layout(Count(6), {2, 3});
  layout.key = "b";
  EXPECT_EQ(ErrorOf(layout), "no such file");
}

TEST(FlatSourceTest, AShapeThatOverflowsIsRefused) {
  EXPECT_EQ(ErrorOf(Layout("", {UINT64_MAX, UINT64_MAX})), "too many elements");
  FlatLayout records =
      Layout(Records(Count(2), 8, ByteOrder::kLittle), {uint64_t{1} << 31, uint64_t{1} << 31});
  records.has_records = true;
  EXPECT_EQ(ErrorOf(records), "too many elements");
}

TEST(FlatSourceTest, ATrailerHasToBeExact) {
  FlatLayout layout = Layout(Count(6) + "end", {2, 3});
  layout.trailer = 3;
  EXPECT_EQ(ErrorOf(layout), Count(6));
  layout.trailer = 0;
  EXPECT_EQ(ErrorOf(layout), "3 bytes follow the data, expected 0");
}

struct RecordCase {
  ByteOrder order;
  std::vector<uint64_t> shape;
  size_t record_bytes;
  bool fortran_order;
};
class RecordTest : public ::testing::TestWithParam<RecordCase> {};

TEST_P(RecordTest, MarkersAreNoData) {
  const auto& [order, shape, record_bytes, fortran_order] = GetParam();
  uint64_t count = 1;
  for (const uint64_t extent : shape) count *= extent;
  FlatLayout plain = Layout(Count(count, order), shape, order);
  plain.fortran_order = fortran_order;
  FlatLayout layout =
      Layout("head" + Records(Count(count, order), record_bytes, order), shape, order);
  layout.offset = 4;
  layout.has_records = true;
  layout.fortran_order = fortran_order;
  EXPECT_EQ(ErrorOf(layout), ErrorOf(plain));
}

INSTANTIATE_TEST_SUITE_P(
    All, RecordTest,
    ::testing::Values(RecordCase{ByteOrder::kLittle, {4, 3, 5}, 240, false},
                      RecordCase{ByteOrder::kBig, {4, 3, 5}, 60, false},
                      RecordCase{ByteOrder::kBig, {4, 3, 5}, 20, false},
                      RecordCase{ByteOrder::kLittle, {4, 3, 5}, 4, false},
                      RecordCase{ByteOrder::kBig, {5, 3, 4}, 60, true},
                      // Larger than a block: parts of one record, with its markers.
                      RecordCase{ByteOrder::kLittle, {2, 600, 500}, 600 * 500 * 4, false},
                      RecordCase{ByteOrder::kBig, {600, 500}, 600 * 500 * 4, false}));

TEST(FlatSourceTest, MarkersThatDisagreeAreCorrupt) {
  std::string file = Records(Count(6), 12, ByteOrder::kLittle);
  file[16] = 13;  // behind the first record
  FlatLayout layout = Layout(file, {2, 3});
  layout.has_records = true;
  EXPECT_THAT(ErrorOf(layout), HasSubstr("the marker behind a record of 12 bytes says 13"));
  file = Records(Count(6), 12, ByteOrder::kLittle);
  file[20] = 11;  // before the second
  layout = Layout(file, {2, 3});
  layout.has_records = true;
  EXPECT_THAT(ErrorOf(layout), HasSubstr("the marker before a record of 12 bytes says 11"));
}

TEST(FlatSourceTest, RecordsThatDoNotFitTheShapeAreCorrupt) {
  FlatLayout layout = Layout(Records(Count(6), 8, ByteOrder::kLittle), {2, 3});
  layout.has_records = true;
  EXPECT_EQ(ErrorOf(layout),
            "the first marker says that records have 8 bytes, which is no part of the shape");
  layout = Layout(Records(Count(6), 24, ByteOrder::kBig), {2, 3});
  layout.has_records = true;
  EXPECT_THAT(ErrorOf(layout), HasSubstr("records have 402653184 bytes"));
  layout = Layout("ab", {2, 3});
  layout.has_records = true;
  EXPECT_EQ(ErrorOf(layout), "ends before the marker of a record at byte 0");
}

TEST(FlatSourceTest, BitsAreBoolsFromEitherEnd) {
  const std::string bits = "\x81\x42\x01";
  FlatLayout layout = Layout(bits, {3, 7});
  layout.stored = Datatype::Bool();
  layout.bits = FlatEncoding::Bits::kLowestFirst;
  std::string expected;
  for (size_t i = 0; i < 21; ++i) {
    expected += static_cast<char>(static_cast<unsigned char>(bits[i / 8]) >> i % 8 & 1);
  }
  EXPECT_EQ(ErrorOf(layout), expected);
  layout.bits = FlatEncoding::Bits::kHighestFirst;
  for (size_t i = 0; i < 21; ++i) {
    expected[i] = static_cast<char>(static_cast<unsigned char>(bits[i / 8]) >> (7 - i % 8) & 1);
  }
  EXPECT_EQ(ErrorOf(layout), expected);
}

TEST(FlatSourceTest, ManyBitsAreCutAtBytes) {
  std::string bits(150'000, '\0');
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<char>(i * 37 + i / 251);
  FlatLayout layout = Layout(bits, {1'200'000 / 7, 7});
  layout.stored = Datatype::Bool();
  layout.bits = FlatEncoding::Bits::kLowestFirst;
  const std::string bools = ErrorOf(layout);
  ASSERT_EQ(bools.size(), 1'200'000u / 7 * 7);
  for (size_t i = 0; i < bools.size(); ++i) {
    ASSERT_EQ(bools[i], static_cast<unsigned char>(bits[i / 8]) >> i % 8 & 1) << i;
  }
}

TEST(FlatSourceTest, TheExtentFollowsFromTheSize) {
  FlatLayout layout = Layout("xx" + Count(12) + "end", {0, 3});
  layout.offset = 2;
  layout.trailer = 3;
  EXPECT_EQ(FindFlatExtent(layout), 4u);
  layout.trailer = 2;
  EXPECT_EQ(FindFlatExtent(layout).error().message(),
            "49 bytes of data are no whole number of rows of 12 bytes");
  FlatLayout records = Layout(Records(Count(12), 12, ByteOrder::kBig), {0, 3}, ByteOrder::kBig);
  records.has_records = true;
  EXPECT_EQ(FindFlatExtent(records), 4u);
  records = Layout(Records(Count(12), 24, ByteOrder::kBig), {3, 0}, ByteOrder::kBig);
  records.has_records = true;
  records.fortran_order = true;
  EXPECT_EQ(FindFlatExtent(records), 4u);
}

}  // namespace
}  // namespace ndlfs::backends
