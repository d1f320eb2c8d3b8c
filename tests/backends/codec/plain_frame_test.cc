// SPDX-License-Identifier: MIT
//
// Frames without compression, decoded by the codecs whose form they have.
#include "backends/codec/plain_frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "backends/codec/registry.h"
#include "tests/support/result.h"

namespace ndlfs::backends {
namespace {

using model::ByteOrder;
using model::Datatype;
using test::IsOk;

std::vector<std::byte> Count(uint64_t bytes) {
  std::vector<std::byte> out(bytes);
  uint32_t state = 1;
  for (std::byte& byte : out) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<std::byte>(state >> 24);
  }
  return out;
}

std::vector<std::byte> Encode(const PlainFrame& frame, ConstByteSpan decoded) {
  std::vector<std::byte> out(frame.size());
  frame.Read(decoded, 0, out);
  return out;
}

// As a Zarr v2 array has it.
model::Result<std::vector<std::byte>> Decode(const Json& codecs, const Datatype& stored,
                                             uint64_t count, ConstByteSpan encoded) {
  NDLFS_TRY(const CodecChain chain, MakeZarr2Chain(codecs, Json(), false, stored, {count}));
  std::vector<std::byte> out(count * stored.size());
  Scratch scratch;
  NDLFS_RETURN_IF_ERROR(chain.Decode(encoded, {count}, out, scratch));
  return out;
}

const Json kShuffle2 = {{"id", "shuffle"}, {"elementsize", 2}};

class PlainFrameTest : public ::testing::TestWithParam<const char*> {
 protected:
  // The codec alone, and behind a shuffle.
  static std::vector<Json> Chains() {
    const Json codec = {{"id", GetParam()}};
    return {Json::array({codec}), Json::array({kShuffle2, codec})};
  }
};

TEST_P(PlainFrameTest, DecodersGiveBackTheElements) {
  for (const Json& codecs : Chains()) {
    for (const ByteOrder order : {ByteOrder::kLittle, ByteOrder::kBig}) {
      for (const uint64_t count : {1, 5, 32767, 32768, 65536, 200000}) {
        const Datatype stored = Datatype::Integer(2, true).WithOrder(order);
        const auto frame = PlainFrame::Make(codecs, stored, count);
        ASSERT_TRUE(frame);
        const auto elements = Count(2 * count);
        const auto encoded = Encode(*frame, elements);
        const auto decoded = Decode(codecs, stored, count, encoded);
        ASSERT_THAT(decoded, IsOk()) << codecs << ' ' << count;
        EXPECT_TRUE(*decoded == elements) << codecs << ' ' << count;
      }
    }
  }
}

TEST_P(PlainFrameTest, AnyPartIsAPartOfTheWhole) {
  constexpr uint64_t kCount = 70000;
  const Datatype stored = Datatype::Integer(2, true).WithOrder(ByteOrder::kBig);
  for (const Json& codecs : Chains()) {
    const auto frame = PlainFrame::Make(codecs, stored, kCount);
    ASSERT_TRUE(frame);
    const auto elements = Count(2 * kCount);
    const auto encoded = Encode(*frame, elements);
    const uint64_t size = frame->size();
    for (const uint64_t offset : {uint64_t{0}, uint64_t{1}, uint64_t{9}, uint64_t{65535},
                                  uint64_t{65541}, uint64_t{131071}, size - 9, size - 1}) {
      for (const uint64_t length : {uint64_t{1}, uint64_t{7}, uint64_t{70000}}) {
        std::vector<std::byte> part(std::min(length, size - offset));
        frame->Read(elements, offset, part);
        EXPECT_TRUE(std::equal(part.begin(), part.end(), encoded.begin() + offset))
            << codecs << ' ' << offset << ' ' << length;
      }
    }
  }
}

TEST_P(PlainFrameTest, OneElementStandsForAll) {
  const Datatype stored = Datatype::Integer(2, true).WithOrder(ByteOrder::kBig);
  for (const Json& codecs : Chains()) {
    const auto frame = PlainFrame::Make(codecs, stored, 300);
    ASSERT_TRUE(frame);
    const auto element = Count(2);
    std::vector<std::byte> all;
    for (int i = 0; i < 300; ++i) all.insert(all.end(), element.begin(), element.end());
    EXPECT_TRUE(Encode(*frame, element) == Encode(*frame, all)) << codecs;
  }
}

INSTANTIATE_TEST_SUITE_P(Codecs, PlainFrameTest,
                         ::testing::Values("zlib", "gzip", "zstd", "blosc"));

TEST(PlainFrame, CodecsWithoutSuchAFormAreRefused) {
  const Datatype type = Datatype::Integer(2, true);
  const auto make = [&](const Json& codecs, uint64_t count = 4) {
    return PlainFrame::Make(codecs, type, count).has_value();
  };
  EXPECT_TRUE(make(Json::array()));
  EXPECT_TRUE(make(Json::array({kShuffle2})));
  EXPECT_FALSE(make(Json::array({{{"id", "bz2"}}})));
  EXPECT_FALSE(make(Json::array({{{"id", "zlib"}}, {{"id", "zlib"}}})));
  EXPECT_FALSE(make(Json::array({{{"id", "shuffle"}, {"elementsize", 4}}})));
  EXPECT_FALSE(make(Json::array({{{"id", "zlib"}}}), 0));
  EXPECT_FALSE(make(Json::array({{{"id", "zlib"}}}), UINT64_MAX / 2));
  EXPECT_FALSE(make(Json::array({{{"id", "blosc"}}}), uint64_t{1} << 30));
}

TEST_P(PlainFrameTest, OneElementStandsForAllInEitherOrder) {
  const Json codecs = Json::array({{{"id", GetParam()}}});
  const Datatype complex = Datatype::Complex(8, ByteOrder::kBig);
  for (const Datatype& stored :
       {Datatype::Integer(2, true), complex, Datatype::Array(complex, {2})}) {
    const auto frame = PlainFrame::Make(codecs, stored, 3);
    ASSERT_TRUE(frame);
    const auto element = Count(stored.size());
    std::vector<std::byte> all;
    for (int i = 0; i < 3; ++i) all.insert(all.end(), element.begin(), element.end());
    EXPECT_TRUE(Encode(*frame, element) == Encode(*frame, all));
    const auto decoded = Decode(codecs, stored, 3, Encode(*frame, all));
    ASSERT_THAT(decoded, IsOk());
    EXPECT_TRUE(*decoded == all);
  }
}

TEST(PlainFrame, WhatIsNoCodecIsRefused) {
  const Datatype type = Datatype::Integer(2, true);
  for (const char* codecs :
       {R"(["zlib"])", R"([{"id": 1}])", "[{}]", R"([{"id": "shuffle"}])"}) {
    EXPECT_FALSE(PlainFrame::Make(*ParseJson(codecs), type, 4)) << codecs;
  }
}

}  // namespace
}  // namespace ndlfs::backends
