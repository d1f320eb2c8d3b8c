// SPDX-License-Identifier: MIT
#include "fs/view/elements/converted_elements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cache/array_reader.h"
#include "cache/chunk_cache.h"
#include "tests/support/memory_hierarchy.h"
#include "tests/support/result.h"

namespace ndlfs::fs {
namespace {

using model::ByteOrder;
using model::Datatype;

class ConvertedElementsTest : public ::testing::Test {
 protected:
  std::shared_ptr<const ElementSource> Source(const Datatype& type, const std::string& bytes) {
    const std::vector<uint64_t> shape = {bytes.size() / type.size()};
    auto array = std::make_shared<test::MemoryArray>(type, shape, bytes);
    return MakeArrayElements(std::make_shared<cache::ArrayReader>(std::move(array), cache_))
        .value();
  }
  static std::string Read(const ElementSource& source, uint64_t offset, size_t size,
                          ByteOrder order = ByteOrder::kLittle) {
    std::string out(size, '?');
    EXPECT_THAT(source.Read(offset, std::as_writable_bytes(std::span(out)), order,
                            cache::ReadHint::kOnward),
                test::IsOk());
    return out;
  }
  cache::ChunkCache cache_{1 << 20};
};

TEST_F(ConvertedElementsTest, HalvesAreFloatsOfTheSameValue) {
  const Datatype half = Datatype::Float("float16", 2);
  // 1, -2, the smallest subnormal, infinity.
  const auto source = ConvertElements(
      Source(half, std::string("\x00\x3c\x00\xc0\x01\x00\x00\x7c", 8)), ToFloat32(half));
  ASSERT_NE(source, nullptr);
  ASSERT_EQ(source->size(), 16u);
  const std::string bytes = Read(*source, 0, 16);
  std::vector<float> floats(4);
  std::memcpy(floats.data(), bytes.data(), 16);
  EXPECT_THAT(floats, ::testing::ElementsAre(1.0F, -2.0F, 5.9604644775390625e-8F,
                                             std::numeric_limits<float>::infinity()));
  EXPECT_EQ(Read(*source, 0, 4, ByteOrder::kBig), std::string("\x3f\x80\0\0", 4));
}

TEST_F(ConvertedElementsTest, SmallFloatsOfOtherFormatsAreFloatsToo) {
  const Datatype brain = Datatype::Float("bfloat16", 2);
  EXPECT_EQ(Read(*ConvertElements(Source(brain, "\xc0\x3f"), ToFloat32(brain)), 0, 4,
                 ByteOrder::kBig),
            std::string("\x3f\xc0\0\0", 4));
  const Datatype tiny = Datatype::Float("float8_e4m3", 1);
  EXPECT_EQ(
      Read(*ConvertElements(Source(tiny, "\x38"), ToFloat32(tiny)), 0, 4, ByteOrder::kBig),
      std::string("\x3f\x80\0\0", 4));
  EXPECT_EQ(ToFloat32(Datatype::Float32()).converter, nullptr);
  EXPECT_EQ(ToFloat32(Datatype::Integer(2, true)).converter, nullptr);
}

TEST_F(ConvertedElementsTest, AnyRangeIsThatOfTheWhole) {
  const Datatype half = Datatype::Float("float16", 2);
  std::string bytes;
  for (int i = 0; i < 200'000; ++i) bytes += std::string{char(i & 0xFF), char(i >> 9)};
  const auto source = ConvertElements(Source(half, bytes), ToFloat32(half));
  const std::string all = Read(*source, 0, 800'000, ByteOrder::kBig);
  for (const auto& [offset, size] : std::map<uint64_t, size_t>{
           {0, 1}, {1, 2}, {3, 600'001}, {7, 262'144}, {262'141, 270'000}, {799'997, 3}}) {
    EXPECT_EQ(Read(*source, offset, size, ByteOrder::kBig), all.substr(offset, size)) << offset;
  }
  EXPECT_EQ(Read(*source, 800'000, 0), "");
}

TEST_F(ConvertedElementsTest, Utf32IsUtf8WithZerosBehind) {
  const Datatype text = Datatype::FixedString(12, model::Charset::kUtf32);
  const auto unit = [](char32_t code) { return test::Raw(static_cast<uint32_t>(code)); };
  const auto source =
      ConvertElements(Source(text, unit('a') + unit(0x20AC) + unit(0) + unit(0x1F600) +
                                       unit(0xD800) + unit(0x110000)),
                      ToUtf8(text).value());
  ASSERT_EQ(source->size(), 24u);
  EXPECT_EQ(Read(*source, 0, 12), std::string("a\u20ac") + std::string(8, '\0'));
  EXPECT_EQ(Read(*source, 12, 12),
            std::string("\U0001F600\uFFFD\uFFFD") + std::string(2, '\0'));
  EXPECT_EQ(Read(*source, 14, 4), std::string("\x98\x80\xef\xbf"));
  EXPECT_EQ(ToUtf8(Datatype::FixedString(12, model::Charset::kUtf8))->converter, nullptr);
}

TEST_F(ConvertedElementsTest, ErrorsAreThoseOfTheSource) {
  const Datatype half = Datatype::Float("float16", 2);
  auto broken = std::make_shared<test::MemoryArray>(half, std::vector<uint64_t>{4},
                                                    std::vector<uint64_t>{4},
                                                    std::map<uint64_t, std::string>());
  const auto source = ConvertElements(
      MakeArrayElements(std::make_shared<cache::ArrayReader>(std::move(broken), cache_), "/h")
          .value(),
      ToFloat32(half));
  std::string out(16, '?');
  EXPECT_THAT(source->Read(0, std::as_writable_bytes(std::span(out)), ByteOrder::kBig,
                           cache::ReadHint::kOnward),
              test::IsError(model::ErrorCode::kCorrupt, ::testing::HasSubstr("/h: chunk 0: ")));
  EXPECT_EQ(ConvertElements(nullptr, ToFloat32(half)), nullptr);
}

}  // namespace
}  // namespace ndlfs::fs
